import { Command } from 'commander';
import { type ApiRunDetail, runDetailSchema } from '../shared/api.ts';
import { oneLine } from '../shared/errors.ts';
import { isFinal } from '../shared/outcome.ts';
import { plain } from '../shared/plain-text.ts';
import type { ApiClient } from './client/api-client.ts';
import { addClientOptions, clientOf, type Options, printJson, runId } from './client/client-command.ts';
import { failureReport, hintOf } from './client/failure-report.ts';
import { type LastLines, lastLines } from './client/last-lines.ts';
import { decidingStep } from './client/run-facts.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** `vole why`: why a run waits, or how it ended. */
export function whyCommand(context: CliContext): Command {
  const command = new Command('why').description('say why a run waits, or how it ended').argument('<run>');
  withExamples(addClientOptions(command), [
    { command: 'vole why 12 --data /var/lib/vole-server', what: 'why run 12 is not running' },
    {
      command: 'vole why 4',
      what: 'which step of run 4 failed and how, its last lines, and what to do next',
    },
  ]);
  return command.action(async (text: string, options: Options) => {
    const id = runId(text);
    const client = clientOf(options, context);
    const run = await client.get(`/api/runs/${id}`, runDetailSchema);
    const last = hasFailed(run) ? await linesOf(client, run, context) : null;
    if (options['json']) return printJson(context, whyJson(run, last));
    const lines = [...whyLines(run), ...(last ? failureReport(run, last, Date.now()) : [])];
    for (const line of lines) context.stdout(`${plain(line)}\n`);
  });
}

/** A log that cannot be read keeps nobody from what is known without it. */
async function linesOf(client: ApiClient, run: ApiRunDetail, context: CliContext): Promise<LastLines> {
  try {
    return await lastLines(client, run, decidingStep(run));
  } catch (error) {
    context.stderr(`vole: the log of run ${run.id} cannot be read: ${oneLine(error)}\n`);
    return { lines: [], endMs: null };
  }
}

/** It was executed, and that came to a bad end. */
function hasFailed({ state, attempt }: ApiRunDetail): boolean {
  return isFinal(state) && state !== 'passed' && attempt > 0;
}

function whyJson(run: ApiRunDetail, last: LastLines | null): object {
  return {
    run: run.id,
    state: run.state,
    reason: run.reason,
    detail: run.detail,
    cancelWhy: run.cancelWhy,
    wait: run.wait,
    repository: run.repository,
    job: run.job,
    ref: run.ref,
    sha: run.sha,
    machine: run.machine,
    attempt: run.attempt,
    startedAtMs: run.startedAtMs,
    endedAtMs: run.endedAtMs,
    steps: run.steps,
    failedStep: decidingStep(run),
    lastLines: last?.lines ?? [],
    hint: last && hintOf(run, last),
  };
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
