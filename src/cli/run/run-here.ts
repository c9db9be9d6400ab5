import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Runner } from '../../runner/runner.ts';
import type { RunningServer } from '../../server/server.ts';
import { type ApiPipeline, type ApiRun, pipelineSchema } from '../../shared/api.ts';
import { ERRORS, VoleError } from '../../shared/errors.ts';
import type { Settings } from '../../shared/settings/types.ts';
import { ApiClient, json } from '../client/api-client.ts';
import { waitForPipeline } from '../client/wait.ts';
import type { CliContext } from '../context.ts';
import { embeddedServer, SILENT } from '../embedded-server.ts';
import { baseEnv } from '../runner/runner-options.ts';
import { embeddedRunner } from './embedded-runner.ts';
import { LiveLines } from './live-lines.ts';
import { resultTable } from './result-table.ts';
import { SlotLines } from './slot-lines.ts';
import { findWorkspace } from './workspace.ts';

export interface RunRequest {
  readonly jobs: readonly string[];
  readonly ref: string | null;
  readonly json: boolean;
}

const REDRAW_MS = 150;

/**
 * A server and a runner in this process, on the repository of the working folder. The server's data
 * are temporary; the runner's directory is kept, since its caches are what makes the next run fast.
 * Gives the exit status: 0, 1 where a job did not pass, 130 where a signal ended it.
 */
export async function runHere(
  context: CliContext,
  settings: Settings<'run'>,
  request: RunRequest,
): Promise<number> {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'vole-run-'));
  try {
    const env = { ...baseEnv(context, settings.jobEnv), HOME: os.homedir() };
    const { repository, cloneUrl, sha, note } = await findWorkspace(context.cwd, request.ref, scratch, env);
    if (note) context.stderr(`vole: ${note}\n`);
    const server = await embeddedServer(path.join(scratch, 'data'), context.env);
    try {
      await server.store.repositories.add({ name: repository, cloneUrl, maxJobs: null });
      const client = new ApiClient(async () => ({ url: server.http.url, token: server.token }));
      const body = json({ repository, ref: sha, jobs: request.jobs });
      const pipeline = await client.send('POST', '/api/pipelines', body, pipelineSchema);
      if (pipeline.fault !== null) throw new VoleError('workflow-invalid', pipeline.fault);
      return await runPipeline(context, settings, request, { server, client, pipeline });
    } finally {
      await server.close();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function runPipeline(
  context: CliContext,
  settings: Settings<'run'>,
  request: RunRequest,
  parts: { server: RunningServer; client: ApiClient; pipeline: ApiPipeline },
): Promise<number> {
  const { server, client, pipeline } = parts;
  const runner = new Runner(await embeddedRunner(server, settings, context, SILENT));
  const write = (text: string): void => (request.json ? context.stderr(text) : context.stdout(text));
  const lines = new LiveLines(write, context.interactive && !request.json, () => context.columns);
  const slots = new SlotLines(settings.jobs);
  const redraw = setInterval(() => lines.set(slots.lines(runner.running, Date.now())), REDRAW_MS);
  let signals = 0;
  const onSignal = (): void => {
    signals++;
    if (signals === 1) lines.print('vole: ending the jobs; once more ends them at once\n');
    for (const run of pipeline.runs) void server.store.runs.cancel(run.id, 'vole run was interrupted');
    runner.signal();
  };
  const off = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => context.onSignal(name, onSignal));
  try {
    const ended = runner.run(() => {});
    const shown: CliContext = {
      ...context,
      interactive: context.interactive,
      write: async (bytes) => {
        const text = Buffer.from(bytes).toString('utf8');
        slots.printed(text);
        lines.print(text);
      },
    };
    const result = await Promise.race([
      waitForPipeline(client, pipeline, shown, false),
      ended.then((end) => new VoleError('internal', end.error ?? 'the runner ended before its jobs')),
    ]);
    if (result instanceof VoleError && signals === 0) throw result;
    clearInterval(redraw);
    lines.clear();
    runner.signal();
    await ended;
    const final = await client.get(`/api/pipelines/${pipeline.id}`, pipelineSchema);
    context.stdout(
      request.json ? `${JSON.stringify(final, null, 2)}\n` : `\n${resultTable(final.runs.map(row))}`,
    );
    if (signals > 0) return ERRORS.interrupted.exit;
    return final.runs.every((run) => run.state === 'passed') ? 0 : ERRORS['job-failed'].exit;
  } finally {
    clearInterval(redraw);
    lines.clear();
    for (const stop of off) stop();
  }
}

function row(run: ApiRun) {
  const ended = run.endedAtMs ?? Date.now();
  return {
    run: run.id,
    job: run.job,
    state: run.state,
    durationMs: run.startedAtMs === null ? null : ended - run.startedAtMs,
    detail: run.detail,
  };
}
