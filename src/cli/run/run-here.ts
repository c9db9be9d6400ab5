import { rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { RunningServer } from '../../server/server.ts';
import { pipelineSchema } from '../../shared/api.ts';
import { DirLayout, savedCheckoutName } from '../../shared/dir-layout.ts';
import { VoleError } from '../../shared/errors.ts';
import { gitEnvOf } from '../../shared/git-env.ts';
import type { Settings } from '../../shared/settings/types.ts';
import { baseEnv } from '../base-env.ts';
import { ApiClient, json } from '../client/api-client.ts';
import type { CliContext } from '../context.ts';
import { defaultDir } from '../default-dir.ts';
import { embeddedServer } from '../embedded-server.ts';
import { WORKFLOW } from '../repository-here.ts';
import { Interruption } from './interruption.ts';
import { lentSecrets } from './lent-secrets.ts';
import { type RunRequest, runPipeline } from './run-pipeline.ts';
import { takeScratch } from './scratch.ts';
import { findWorkspace, type Workspace } from './workspace.ts';

/**
 * A server and a runner in this process, on the repository of the working folder. The server's data
 * are temporary; the runner's directory is kept, since its caches are what makes the next run fast.
 * Gives the exit status: 0, 1 where a job did not pass, 130 where a signal ended it, 141 where nobody
 * read its output to the end.
 */
export async function runHere(
  context: CliContext,
  settings: Settings<'run'>,
  request: RunRequest,
): Promise<number> {
  const interruption = new Interruption(context);
  try {
    const scratch = takeScratch();
    try {
      const dir = settings.dir ?? defaultDir(context);
      return await inScratch(context, { ...settings, dir }, request, scratch.path, interruption);
    } finally {
      scratch.remove();
    }
  } catch (error) {
    if (error instanceof VoleError && error.code === 'interrupted' && interruption.exitStatus !== null) {
      context.stderr(`vole: ${error.message}\n`);
      return interruption.exitStatus;
    }
    throw error;
  } finally {
    interruption.close();
  }
}

async function inScratch(
  context: CliContext,
  settings: Settings<'run'> & { dir: string },
  request: RunRequest,
  scratch: string,
  interruption: Interruption,
): Promise<number> {
  const env = { ...gitEnvOf(context.env), ...baseEnv(context, settings.jobEnv), HOME: os.homedir() };
  const secrets = lentSecrets(request.secrets, context.env);
  const workspace = await findWorkspace(context.cwd, request, scratch, env, interruption.signal);
  const { workflowFile } = workspace;
  if (workflowFile !== WORKFLOW) context.stderr(`vole: the workflow file is ${workflowFile}\n`);
  if (workspace.note) context.stderr(`vole: ${workspace.note}\n`);
  const server = await embeddedServer(path.join(scratch, 'data'), context.env, secrets);
  try {
    const parts = await interruption.orInterrupted(submit(server, workspace, request.jobs));
    if (request.secrets.length > 0 && parts.pipeline.trust === 'untrusted') {
      context.stderr(`vole: no branch or tag has this commit: its jobs are untrusted and get no secret\n`);
    }
    return await runPipeline(context, settings, request, { ...parts, server, interruption });
  } finally {
    await server.close();
    if (workspace.temporary) forget(settings.dir, workspace);
  }
}

async function submit(
  server: RunningServer,
  { repository, cloneUrl, sha, workflowFile }: Workspace,
  jobs: readonly string[],
) {
  await server.store.repositories.add({ name: repository, cloneUrl, maxJobs: null });
  const client = new ApiClient(async () => ({ url: server.http.url, token: server.token }));
  const body = json({ repository, ref: sha, jobs });
  const pipeline = await client.send('POST', '/api/pipelines', body, pipelineSchema);
  if (pipeline.fault !== null) {
    // the server knows the file by its name in the repository, a person by the way to it
    const way = workflowFile.slice(0, -WORKFLOW.length);
    throw new VoleError('workflow-invalid', pipeline.fault.replace(/^(?=\.vole\.yml:)/gm, way));
  }
  return { client, pipeline };
}

/** What was fetched from a temporary repository is of no use to any other run. */
function forget(dir: string, { repository, cloneUrl }: Workspace): void {
  const saved = new DirLayout(dir).savedCheckout(savedCheckoutName(repository, 'trusted', cloneUrl));
  rmSync(saved, { recursive: true, force: true });
}
