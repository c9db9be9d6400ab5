import { Command } from 'commander';
import { type ApiRunDetail, runDetailSchema } from '../shared/api.ts';
import { isFinal } from '../shared/outcome.ts';
import { plain } from '../shared/plain-text.ts';
import { addClientOptions, clientOf, type Options, printJson, runId } from './client/client-command.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** `vole why`: why a run waits, or how it ended. */
export function whyCommand(context: CliContext): Command {
  const command = new Command('why').description('say why a run waits, or how it ended').argument('<run>');
  withExamples(addClientOptions(command), [
    { command: 'vole why 12 --data /var/lib/vole-server', what: 'why run 12 is not running' },
  ]);
  return command.action(async (text: string, options: Options) => {
    const id = runId(text);
    const run = await clientOf(options, context).get(`/api/runs/${id}`, runDetailSchema);
    if (options['json']) {
      const { state, reason, detail, wait, cancelWhy } = run;
      return printJson(context, { run: id, state, reason, detail, cancelWhy, wait });
    }
    for (const line of whyLines(run)) context.stdout(`${plain(line)}\n`);
  });
}

export function whyLines(run: ApiRunDetail): string[] {
  const name = `run ${run.id} (${run.job} of ${run.repository})`;
  if (isFinal(run.state)) {
    const why = run.reason === null ? '' : ` (${run.reason})`;
    return [`${name} is ${run.state}${why}${run.detail === '' ? '' : `: ${run.detail}`}`];
  }
  if (run.state === 'running') {
    const cancelled = run.cancelWhy === null ? '' : `; it is being cancelled: ${run.cancelWhy}`;
    return [`${name} is running on ${run.machine ?? 'a runner'}, attempt ${run.attempt}${cancelled}`];
  }
  const reasons = run.wait?.reasons ?? [];
  const place = run.wait?.place;
  return [
    `${name} is ${run.state}`,
    ...reasons.map((reason) => `  ${reason.text}`),
    ...(place === null || place === undefined
      ? []
      : [`  place ${place} among the runs that could be leased`]),
  ];
}
