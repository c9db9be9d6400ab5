import { Command } from 'commander';
import { cancelledSchema } from '../shared/api.ts';
import { VoleError } from '../shared/errors.ts';
import { json } from './client/api-client.ts';
import { addClientOptions, clientOf, type Options, printJson, runId } from './client/client-command.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** `vole cancel`: a queued run ends at once, a running one is told by its runner's next heartbeat. */
export function cancelCommand(context: CliContext): Command {
  const command = new Command('cancel')
    .description('cancel runs')
    .argument('<run...>')
    .option('--why <text>', 'shown with the run');
  withExamples(addClientOptions(command), [
    { command: 'vole cancel 12 13 --data /var/lib/vole-server', what: 'cancel two runs' },
  ]);
  return command.action(async (texts: string[], options: Options) => {
    const ids = texts.map(runId);
    const why = options['why'];
    if (typeof why === 'string' && (why === '' || why.length > 200))
      throw new VoleError('usage', '--why: give 1 to 200 characters');
    const client = clientOf(options, context);
    const results: { run: number; state: string; ended: boolean }[] = [];
    const missing: VoleError[] = [];
    for (const id of ids) {
      try {
        const body = json(typeof why === 'string' ? { why } : {});
        const { state, ended } = await client.send('POST', `/api/runs/${id}/cancel`, body, cancelledSchema);
        results.push({ run: id, state, ended });
      } catch (error) {
        // the others are still cancelled
        if (!(error instanceof VoleError) || error.code !== 'not-found') throw error;
        missing.push(error);
      }
    }
    if (options['json']) printJson(context, { runs: results });
    else
      for (const { run, state, ended } of results) context.stdout(`run ${run}: ${wordsFor(state, ended)}\n`);
    if (missing.length > 0)
      throw new VoleError('not-found', missing.map((error) => error.message).join('\n'));
  });
}

function wordsFor(state: string, ended: boolean): string {
  if (state === 'cancelled') return ended ? 'had been cancelled before' : 'cancelled';
  return state === 'cancelling' ? 'is being cancelled' : `had ended before: ${state}`;
}
