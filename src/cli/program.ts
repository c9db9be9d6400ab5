import { Command } from 'commander';
import { artifactsCommand } from './artifacts.ts';
import { benchCommand } from './bench.ts';
import { cacheCommand } from './cache.ts';
import { cancelCommand } from './cancel.ts';
import type { CliContext } from './context.ts';
import { doctorCommand } from './doctor.ts';
import { eventCommand } from './event.ts';
import { withExamples, withExamplesOfParts } from './help.ts';
import { keyCommand } from './key.ts';
import { lintCommand } from './lint.ts';
import { logsCommand } from './logs.ts';
import { repoCommand } from './repo.ts';
import { reportError, UsageError } from './report-error.ts';
import { retryCommand } from './retry.ts';
import { runCommand } from './run.ts';
import { runnerCommand } from './runner.ts';
import { runsCommand } from './runs.ts';
import { secretCommand } from './secret.ts';
import { serverCommand } from './server.ts';
import { submitCommand } from './submit.ts';
import { tasksCommand } from './tasks.ts';
import { version } from './version.ts';
import { whyCommand } from './why.ts';

type MakeCommand = (context: CliContext) => Command;

/** Every command, in the order of the help. Each file imports what is heavy inside its action. */
const COMMANDS: readonly MakeCommand[] = [
  runCommand,
  serverCommand,
  runnerCommand,
  submitCommand,
  runsCommand,
  logsCommand,
  artifactsCommand,
  cancelCommand,
  retryCommand,
  whyCommand,
  repoCommand,
  keyCommand,
  secretCommand,
  eventCommand,
  tasksCommand,
  cacheCommand,
  lintCommand,
  doctorCommand,
  benchCommand,
];

/** The whole command tree; also what `docs/cli.md` is generated from. */
export function buildProgram(context: CliContext): Command {
  const program = new Command('vole');
  program
    .description(
      'A CI system for people who own their build hosts: one process keeps N slots of a machine busy.',
    )
    .version(version(), '-V, --version', 'print the version')
    .option('--verbose', 'print the stack of an error')
    .helpCommand('help [command]', 'show the help of a command')
    .showSuggestionAfterError(true);
  withExamples(program, [
    { command: 'vole run --jobs 2', what: 'run the workflow of the repository you stand in, here and now' },
    { command: 'vole lint', what: 'check .vole.yml before a push' },
    { command: 'vole doctor', what: 'see what this host has and lacks' },
  ]);
  for (const make of COMMANDS) program.addCommand(withExamplesOfParts(make(context)));
  configure(program, 'vole', context);
  return program;
}

/** Options of the parent are not inherited by commands that were added whole, so each is set up here. */
function configure(command: Command, path: string, context: CliContext): void {
  command.exitOverride((error) => {
    throw error.exitCode === 0 ? error : new UsageError(error, path);
  });
  command.configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 });
  command.configureOutput({
    writeOut: (text) => context.stdout(text),
    // Help that is asked for by a mistake; error lines are printed once, by `runCli`.
    writeErr: (text) => context.stderr(text),
    outputError: () => {},
    getOutHelpWidth: () => Math.min(context.columns, 120),
    getErrHelpWidth: () => Math.min(context.columns, 120),
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  });
  for (const child of command.commands) configure(child, `${path} ${child.name()}`, context);
}

/** Runs one command line (without node and script) and gives the exit code. Never throws. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  try {
    const program = buildProgram(context);
    await program.parseAsync([...argv], { from: 'user' });
    return context.exitCode;
  } catch (error) {
    const report = reportError(error, argv.includes('--verbose'));
    for (const line of report.lines) context.stderr(`${line}\n`);
    return report.exit;
  }
}
