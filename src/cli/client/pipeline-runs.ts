import type { ApiPipeline } from '../../shared/api.ts';
import type { CliContext } from '../context.ts';
import { paintFor } from '../run/paint.ts';
import { resultTable } from '../run/result-table.ts';
import type { ApiClient } from './api-client.ts';
import { tookMs } from './run-facts.ts';
import { columns } from './table.ts';
import { waitForPipeline } from './wait.ts';
import { WaitNotices } from './wait-notices.ts';

/** Says meanwhile why those wait that do not begin. */
export async function waited(
  client: ApiClient,
  pipeline: ApiPipeline,
  context: CliContext,
  quiet: boolean,
): Promise<ApiPipeline> {
  const notices = new WaitNotices(client, (line) => context.stderr(line));
  try {
    return await waitForPipeline(
      client,
      pipeline,
      context,
      quiet,
      undefined,
      (runs) => void notices.look(runs),
    );
  } finally {
    notices.close();
  }
}

/** Where each run of it is shown. */
export function printRuns(pipeline: ApiPipeline, url: string, context: CliContext): void {
  const rows = pipeline.runs.map((run) => [`run ${run.id}`, run.job, `${url}/runs/${run.id}`]);
  context.stdout(
    columns(rows)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

/** How its runs have ended. */
export function printResults(pipeline: ApiPipeline, context: CliContext): void {
  const results = pipeline.runs.map((run) => ({
    run: run.id,
    job: `${run.job} #${run.id}`,
    state: run.state,
    durationMs: tookMs(run, Date.now()),
    detail: [run.machine, run.detail].filter(Boolean).join(': '),
  }));
  context.stdout(`\n${resultTable(results, paintFor(context))}`);
}
