/**
 * WORKER THREAD of a runner: does one run a task. Whatever can be expected is in the result; what is
 * thrown here is a fault of vole and ends the run as `worker-died`.
 */
import { threadId } from 'node:worker_threads';
import type { TaskResult, WorkerTask } from '../shared/worker-messages.ts';
import { executeRun } from './run.ts';

export default async function task(task: WorkerTask): Promise<TaskResult> {
  task.port.postMessage({ type: 'thread', id: threadId });
  return await executeRun(task);
}
