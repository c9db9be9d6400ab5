import { Runner } from '../../runner/runner.ts';
import type { RunningServer } from '../../server/server.ts';
import { type ApiPipeline, type ApiRun, pipelineSchema } from '../../shared/api.ts';
import { ERRORS, VoleError } from '../../shared/errors.ts';
import type { Settings } from '../../shared/settings/types.ts';
import type { ApiClient } from '../client/api-client.ts';
import { waitForPipeline } from '../client/wait.ts';
import type { CliContext } from '../context.ts';
import { SILENT } from '../embedded-server.ts';
import { embeddedRunner, strangeWants } from './embedded-runner.ts';
import type { Interruption } from './interruption.ts';
import { LiveLines } from './live-lines.ts';
import { paintFor } from './paint.ts';
import { type JobResult, resultTable } from './result-table.ts';
import { SlotLines } from './slot-lines.ts';
import type { Wanted } from './workspace.ts';

export interface RunRequest extends Wanted {
  readonly jobs: readonly string[];
  /** Names of variables. */
  readonly secrets: readonly string[];
  readonly json: boolean;
}

const REDRAW_MS = 150;

export interface PipelineParts {
  readonly server: RunningServer;
  readonly client: ApiClient;
  readonly pipeline: ApiPipeline;
  readonly interruption: Interruption;
}

/** Runs a pipeline of the embedded server to its end and shows it; gives the exit status. */
export async function runPipeline(
  context: CliContext,
  settings: Settings<'run'>,
  request: RunRequest,
  parts: PipelineParts,
): Promise<number> {
  const { client, pipeline, interruption } = parts;
  for (const line of strangeWants(pipeline.runs, settings.jobs)) context.stderr(`vole: ${line}\n`);
  const runner = new Runner(await embeddedRunner(parts.server, pipeline.runs, settings, context, SILENT));
  const paint = paintFor(context);
  const terminal = context.interactive && !request.json && context.env['TERM'] !== 'dumb';
  const write = (text: string): void => (request.json ? context.stderr(text) : context.stdout(text));
  const lines = new LiveLines(write, terminal, () => context.columns);
  const slots = new SlotLines(settings.jobs, paint);
  let free: 'starting' | 'idle' = 'starting';
  const draw = (): void => lines.set(slots.lines(runner.running, Date.now(), free));
  if (terminal) draw();
  const redraw = terminal ? setInterval(draw, REDRAW_MS) : undefined;
  const tell = (text: string): void => (terminal ? lines.print(text) : context.stderr(text));
  // where nobody reads the output any more, nobody presses a key either
  interruption.onRaised((level) => stop(level, runner, parts, interruption.unread ? () => {} : tell));
  const shown: CliContext = {
    ...context,
    interactive: context.interactive || request.json,
    write: async (bytes) => {
      const text = Buffer.from(bytes).toString('utf8');
      if (terminal) lines.print(slots.printed(text));
      else if (request.json) context.stderr(text);
      else await context.write(bytes);
    },
  };
  const waiting = new AbortController();
  try {
    const ended = runner.run(() => {
      free = 'idle';
    });
    const result = await Promise.race([
      waitForPipeline(client, pipeline, shown, false, waiting.signal),
      ended.then((end) => new VoleError('internal', end.error ?? 'the runner ended before its jobs')),
    ]);
    if (result instanceof VoleError && interruption.exitStatus === null) throw result;
    clearInterval(redraw);
    lines.clear();
    runner.signal();
    await ended;
    const final = await client.get(`/api/pipelines/${pipeline.id}`, pipelineSchema);
    const rows = final.runs.map(row);
    context.stdout(request.json ? `${JSON.stringify(final, null, 2)}\n` : `\n${resultTable(rows, paint)}`);
    if (interruption.exitStatus !== null) return interruption.exitStatus;
    return rows.every(({ state }) => state === 'passed') ? 0 : ERRORS['job-failed'].exit;
  } finally {
    waiting.abort();
    clearInterval(redraw);
    lines.clear();
  }
}

/** First the jobs get their grace, then KILL, then nobody waits for them. */
function stop(
  level: number,
  runner: Runner,
  { server, pipeline }: PipelineParts,
  tell: (text: string) => void,
): void {
  const why = 'vole run was interrupted';
  if (level === 1) {
    tell('vole: ending the jobs; once more ends them at once\n');
    for (const run of pipeline.runs) void server.store.runs.cancel(run.id, why).catch(() => {});
    runner.cancelRuns(why);
    runner.signal();
  } else if (level === 2) {
    tell('vole: killing the jobs\n');
    runner.hurry();
  } else runner.kill();
}

function row(run: ApiRun): JobResult {
  const ended = run.endedAtMs ?? Date.now();
  return {
    run: run.id,
    job: run.job,
    state: run.state,
    durationMs: run.startedAtMs === null ? null : ended - run.startedAtMs,
    detail: run.detail,
  };
}
