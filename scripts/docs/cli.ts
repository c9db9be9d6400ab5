import type { Command } from 'commander';
import type { CliContext } from '../../src/cli/context.ts';
import { examplesOf } from '../../src/cli/help.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { GENERATED } from './generated.ts';

const NOWHERE: CliContext = {
  env: {},
  cwd: '/',
  interactive: false,
  stderrInteractive: false,
  columns: 100,
  exitCode: 0,
  onClosedOutput: 'end',
  leavesOutput: false,
  stdout: () => {},
  stderr: () => {},
  write: async () => {},
  stdin: async () => '',
  onSignal: () => () => {},
};

/** `docs/cli.md`: the help of every command, from the commands themselves. */
export function cliPage(): string {
  const program = buildProgram(NOWHERE);
  const commands = leavesOf(program).filter((command) => command !== program && command.name() !== 'help');
  return [
    GENERATED,
    '# Command line',
    '',
    INTRODUCTION,
    '',
    ...commands.map((command) => sectionOf(command)),
  ].join('\n');
}

const INTRODUCTION = `Every command prints for a person and, with \`--json\`, for a program. \`vole --version\` prints the version,
\`vole COMMAND --help\` what stands here. Settings may also stand in the environment, see [configuration.md](configuration.md);
exit statuses are in [errors.md](errors.md). \`--verbose\` adds the stack to an error.`;

function leavesOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(leavesOf)];
}

function sectionOf(command: Command): string {
  const name = pathOf(command);
  const level = '#'.repeat(Math.min(4, name.split(' ').length));
  const help = command.createHelp();
  const lines = [`${level} ${name}`, '', command.description() || command.summary(), ''];
  lines.push('```', `${name} ${command.usage()}`, '```', '');
  lines.push(
    ...listOf(help.visibleArguments(command).map((a) => [help.argumentTerm(a), help.argumentDescription(a)])),
  );
  const options = help.visibleOptions(command).filter((option) => option.long !== '--help');
  lines.push(...listOf(options.map((option) => [help.optionTerm(option), help.optionDescription(option)])));
  const examples = examplesOf(command);
  if (examples.length > 0) {
    lines.push('```sh', ...examples.flatMap(({ command, what }) => [`# ${what}`, command]), '```', '');
  }
  return lines.join('\n');
}

function listOf(rows: readonly (readonly [string, string] | string[])[]): string[] {
  if (rows.length === 0) return [];
  return [...rows.map(([term = '', text = '']) => `- \`${term}\`${text ? `: ${text}` : ''}`), ''];
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
