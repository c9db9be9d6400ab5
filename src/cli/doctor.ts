import { Command } from 'commander';
import { ERRORS } from '../shared/errors.ts';
import type { CliContext } from './context.ts';
import type { Check } from './doctor/check.ts';
import { withExamples } from './help.ts';
import { addSettings, readSettings } from './settings-options.ts';

export function doctorCommand(context: CliContext): Command {
  const command = new Command('doctor')
    .summary('say what this host has and lacks')
    .description(
      'Say what this host has and lacks for vole, each with its remedy. Without --dir nothing is said of a directory. Exit status 72 where something is missing; a warning leaves it at 0.',
    );
  addSettings(command, 'doctor')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const settings = readSettings('doctor', options, context);
      const { gatherChecks } = await import('./doctor/gather.ts');
      const checks = await gatherChecks(settings, context.env);
      const works = checks.every(({ status }) => status !== 'missing');
      context.stdout(options.json ? `${JSON.stringify({ ok: works, checks })}\n` : renderChecks(checks));
      if (!works) context.exitCode = ERRORS['missing-tool'].exit;
    });
  return withExamples(command, [
    { command: 'vole doctor --dir /var/lib/vole --jobs 8', what: 'before a runner is set up on this host' },
    { command: 'vole doctor --json', what: 'for a program' },
  ]);
}

/** A line a check, its remedy below it. */
export function renderChecks(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, status, found, remedy }) => {
    const line = `${status.padEnd(8)} ${name.padEnd(width)}  ${found}`;
    return remedy ? [line, `${' '.repeat(9 + width)}  -> ${remedy}`] : [line];
  });
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length;
  return `${lines.join('\n')}\n\n${count('ok')} ok, ${count('warn')} warnings, ${count('missing')} missing\n`;
}
