/**
 * WORKER THREAD of tests: does to its runner what a worker must not do. The first step's text says
 * what. It fails to load while the file that `RIG_BROKEN` names is there.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { threadId } from 'node:worker_threads';
import type { FromWorker, TaskResult, ToWorker, WorkerTask } from '../../../src/shared/worker-messages.ts';

if (existsSync(process.env['RIG_BROKEN'] ?? '')) throw new Error('this worker is broken');

const PASSED: TaskResult = {
  outcome: { result: 'passed', reason: null, detail: '', steps: [], durationMs: 1 },
  logBytes: 0,
};

/** A process of the run, in a group of its own, that `RunnerRig.marked` finds. */
function child(task: WorkerTask): number {
  const rig = path.resolve(task.paths.tree, '../../..');
  const RIG_MARKER = `${rig} ${task.spec.job}`;
  const env = { PATH: process.env['PATH'], VOLE_JOB_MARKER: task.marker, RIG_MARKER };
  const running = spawn('sleep', ['9999'], { env, detached: true, stdio: 'ignore' });
  return running.pid ?? 0;
}

export default async function odd(task: WorkerTask): Promise<TaskResult> {
  const { port } = task;
  const tell = (message: FromWorker): void => port.postMessage(message);
  tell({ type: 'thread', id: threadId });
  const step = task.spec.steps[0];
  switch (step?.run) {
    case 'loop': {
      const granted = new Promise<ToWorker>((resolve) => port.once('message', resolve));
      tell({ type: 'guard', id: 1, name: 'git-odd', mode: 'exclusive' });
      const answer = await granted;
      if (answer.type !== 'granted') throw new Error(`no guard: ${JSON.stringify(answer)}`);
      tell({ type: 'process', pgid: child(task), what: 'step 1' });
      for (;;);
    }
    case 'die unannounced':
      child(task);
      throw new Error('died before it said so');
    case 'exit unannounced':
      child(task);
      return process.exit(3);
    case 'grow': {
      tell({ type: 'process', pgid: child(task), what: 'step 1' });
      const kept: object[][] = [];
      for (;;) kept.push(Array.from({ length: 10_000 }, (_, at) => ({ at })));
    }
    case 'deaf':
      tell({ type: 'process', pgid: child(task), what: 'step 1' });
      return await new Promise(() => setInterval(() => {}, 1000));
    default:
      port.close();
      return PASSED;
  }
}
