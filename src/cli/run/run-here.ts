import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { Runner } from '../../runner/runner.ts';
import { startServer } from '../../server/server.ts';
import { pipelineSchema, type ApiRunDetail } from '../../shared/api.ts';
import { ERRORS, VoleError } from '../../shared/errors.ts';
import type { Settings } from '../../shared/settings/types.ts';
import type { CliContext } from '../context.ts';
import { baseEnv } from '../runner/runner-options.ts';
import { embeddedRunner } from './embedded-runner.ts';
import { followRun } from './follow-run.ts';
import { LiveLines } from './live-lines.ts';
import { resultTable } from './result-table.ts';
import { RunView } from './run-view.ts';
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
 * Gives the exit status: 0, 1 where a job did not pass, or what the table of errors says.
 */
export async function runHere(
  context: CliContext,
  settings: Settings<'run'>,
  request: RunRequest,
): Promise<number> {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'vole-run-'));
  try {
    const env = { ...baseEnv(context, settings.jobEnv), HOME: os.homedir() };
    const workspace = await findWorkspace(context.cwd, request.ref, scratch, env);
    const server = await startServer({
      ...EMBEDDED_SERVER,
      data: path.join(scratch, 'data'),
      log: pino({ level: 'silent' }),
    });
    try {
      const { repository, cloneUrl, sha, note } = workspace;
      await server.store.repositories.add({ name: repository, cloneUrl, maxJobs: null });
      const pipeline = await submit(server, repository, sha, request.jobs);
      if (note) context.stderr(`vole: ${note}\n`);
      return await runPipeline(context, settings, request, server, pipeline);
    } finally {
      await server.close();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
