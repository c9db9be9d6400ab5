import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bareLoop } from '../../runner/pool/bare-loop.ts';
import type { RunningServer } from '../../server/server.ts';
import { VoleError } from '../../shared/errors.ts';
import { isFinal } from '../../shared/outcome.ts';
import { runCommand } from '../../shared/platform/commands.ts';
import type { Environment } from '../../shared/settings/resolve.ts';
import { embeddedServer } from '../embedded-server.ts';
import { benchRun } from './bench-run.ts';
import { benchRunner } from './bench-runner.ts';

const LOOK_MS = 20;
/** Jobs of each slot that are not counted: by then its thread, connection and code are as after a while. */
const WARM_UP = 100;
const WHERE = { repository: 'bench/slots', image: null };

export interface SlotsBench {
  readonly cores: number;
  readonly count: number;
  readonly sleepMs: number;
  readonly rows: readonly {
    readonly jobs: number;
    readonly volePerSecond: number;
    readonly barePerSecond: number;
    /** Null where there is no xargs. */
    readonly xargsPerSecond: number | null;
  }[];
  /** Resident memory of a runner whose slots wait, after its start. */
  readonly idleRunnerMiB: readonly { readonly jobs: number; readonly mib: number }[];
}

export interface SlotsRequest {
  readonly jobs: readonly number[];
  readonly count: number;
  readonly sleepMs: number;
}

/**
 * Measures slots from the first lease to the last durable record, with a server in this process and a
 * runner in another, and in the same run the floors: a bare Piscina loop that spawns the same command
 * on as many threads, and `xargs -P`.
 */
export async function benchSlots(
  request: SlotsRequest,
  env: Environment,
  progress: (text: string) => void,
): Promise<SlotsBench> {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'vole-bench-'));
  const script = path.join(scratch, 'job.sh');
  writeFileSync(script, `${commandOf(request)}\n`);
  const rows: SlotsBench['rows'][number][] = [];
  const idleRunnerMiB: { jobs: number; mib: number }[] = [];
  try {
    for (const jobs of request.jobs) {
      progress(`--jobs ${jobs}: the floors`);
      const barePerSecond = await bare(request, jobs, script);
      const xargsPerSecond = await xargs(request, jobs, script);
      progress(`--jobs ${jobs}: vole`);
      const measured = await slots(request, jobs, path.join(scratch, String(jobs)), env);
      rows.push({ jobs, volePerSecond: measured.perSecond, barePerSecond, xargsPerSecond });
      idleRunnerMiB.push({ jobs, mib: measured.idleMiB });
    }
    const { count, sleepMs } = request;
    return { cores: os.availableParallelism(), count, sleepMs, rows, idleRunnerMiB };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function commandOf(request: SlotsRequest): string {
  return request.sleepMs > 0 ? `sleep ${request.sleepMs / 1000}` : 'true';
}

async function bare(request: SlotsRequest, threads: number, script: string): Promise<number> {
  const workerFile = fileURLToPath(new URL('bench-task.js', import.meta.url));
  const command = { file: '/bin/sh', args: ['-e', script] };
  const { seconds } = await bareLoop({
    workerFile,
    threads,
    count: request.count,
    warmUp: WARM_UP * threads,
    command,
  });
  return request.count / seconds;
}

async function xargs(request: SlotsRequest, jobs: number, script: string): Promise<number | null> {
  const input = Array.from({ length: request.count }, (_, i) => `${i}\n`).join('');
  const start = performance.now();
  const done = await runCommand('xargs', ['-P', String(jobs), '-n', '1', '/bin/sh', '-e', script], { input });
  if (done.missing) return null;
  if (!done.ok) throw new VoleError('io-error', `xargs: ${done.why}`);
  return request.count / ((performance.now() - start) / 1000);
}

async function slots(
  request: SlotsRequest,
  jobs: number,
  folder: string,
  env: Environment,
): Promise<{ perSecond: number; idleMiB: number }> {
  const server = await embeddedServer(path.join(folder, 'data'), env);
  try {
    const runner = await benchRunner(server, path.join(folder, 'dir'), jobs, env);
    try {
      const idleMiB = residentMiB(runner.pid);
      await pipelineOf(server, request, WARM_UP * jobs);
      const ids = await pipelineOf(server, request, request.count);
      const runs = await Promise.all(ids.map((id) => server.store.runs.get(id)));
      const starts = runs.map((run) => run?.startedAt ?? 0);
      const ends = runs.map((run) => run?.endedAt ?? 0);
      const unpassed = runs.find((run) => run?.state !== 'passed');
      if (unpassed) throw new VoleError('job-failed', `run ${unpassed.id} of the bench: ${unpassed.detail}`);
      const seconds = (Math.max(...ends) - Math.min(...starts)) / 1000;
      return { perSecond: request.count / seconds, idleMiB };
    } finally {
      await runner.stop();
    }
  } finally {
    await server.close();
  }
}

/** Queues that many jobs at once and waits until all have ended. */
async function pipelineOf(server: RunningServer, request: SlotsRequest, count: number): Promise<number[]> {
  const runs = Array.from({ length: count }, (_, i) => benchRun(`job ${i}`, WHERE, [commandOf(request)]));
  const made = await server.store.runs.createPipeline({
    repository: 'bench/slots',
    event: 'manual',
    ref: '',
    sha: '',
    trust: 'trusted',
    title: 'bench',
    fault: null,
    runs,
  });
  // Looking at every change would be work that the server of a host does not have.
  for (const id of made.runs.toReversed()) {
    while (!isFinal((await server.store.runs.get(id))?.state ?? 'queued')) await delay(LOOK_MS);
  }
  return made.runs;
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
