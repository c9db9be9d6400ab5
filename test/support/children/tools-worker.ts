/** WORKER THREAD of tests: of a run, the install scripts; a step `goes on` after them until it is cancelled. */
import { once } from 'node:events';
import { threadId } from 'node:worker_threads';
import type { RunOutcome } from '../../../src/shared/outcome.ts';
import type { TaskResult, WorkerTask } from '../../../src/shared/worker-messages.ts';
import { prepareTools } from '../../../src/worker/agent/tools.ts';
import { RunLog } from '../../../src/worker/log/run-log.ts';
import { MainThread } from '../../../src/worker/port.ts';

const BUILT_IN = new URL('../install-scripts/', import.meta.url).pathname;

export default async function tools(task: WorkerTask): Promise<TaskResult> {
  task.port.postMessage({ type: 'thread', id: threadId });
  const main = new MainThread(task.port, task.streams);
  const log = new RunLog({
    fd: task.spoolFd,
    limitBytes: task.logLimitBytes,
    secrets: Object.values(task.spec.secrets),
    startedAt: task.startedAt,
    onSpooled: (bytes) => main.tell({ type: 'spooled', bytes }),
  });
  const failure = await prepareTools(task, main, log, BUILT_IN);
  if (task.spec.steps[0]?.run === 'goes on' && !main.stopped) {
    const stopped = once(main.stopping, 'abort');
    log.say(0, 'goes on');
    await stopped;
  }
  const outcome: RunOutcome = {
    result: failure ? 'failed' : 'passed',
    reason: failure?.reason ?? null,
    detail: failure?.why ?? '',
    steps: [],
    durationMs: 0,
  };
  main.close();
  return { outcome, logBytes: log.close() };
}
