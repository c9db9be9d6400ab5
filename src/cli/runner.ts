import { Command } from 'commander';
import { counted } from '../shared/counted.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { addSettings, readSettings } from './settings-options.ts';

/** `vole runner`: N slots that execute runs of a server, until told to stop. */
export function runnerCommand(context: CliContext): Command {
  const command = new Command('runner').description('execute runs of a server in N slots of this host');
  addSettings(command, 'runner');
  withExamples(command, [
    {
      command:
        'vole runner --server ssh://build1@ci.example:2222 --key ~/.ssh/vole --host-key SHA256:... --dir /var/lib/vole --jobs 4',
      what: 'four slots on this host',
    },
    {
      command: 'vole runner ... --once --exit-status',
      what: 'execute one run, end with 1 where it did not pass',
    },
  ]);
  return command.action(async (options: Record<string, unknown>) => {
    const settings = readSettings('runner', options, context);
    const { runnerOptions } = await import('./runner/runner-options.ts');
    const { Runner } = await import('../runner/runner.ts');
    context.onClosedOutput = 'ignore'; // what it does is not for who reads its first line
    const { ownLog } = await import('./own-log.ts');
    const log = ownLog(settings, context);
    const runner = new Runner(runnerOptions(settings, context, log));
    const off = (['SIGTERM', 'SIGINT', 'SIGHUP'] as const).map((name) =>
      context.onSignal(name, () => runner.signal()),
    );
    try {
      const end = await runner.run(() =>
        context.stdout(
          `vole runner ready: ${counted(settings.jobs, 'slot')}, server ${settings.server}, dir ${settings.dir}\n`,
        ),
      );
      if (end.error) context.stderr(`vole: ${end.error}\n`);
      context.exitCode = end.exitStatus;
    } finally {
      for (const stop of off) stop();
    }
  });
}
