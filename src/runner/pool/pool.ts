import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { oneLine } from '../../shared/errors.ts';
import type { TaskResult, WorkerTask } from '../../shared/worker-messages.ts';

/** How a task ended: with its result, or with its thread. */
export type TaskEnd = { type: 'result'; result: TaskResult } | { type: 'died'; why: string };

export interface RunningTask {
  readonly ended: Promise<TaskEnd>;
  /** To be called when its thread has said so: until then it waits for one that may fail to start. */
  begun(): void;
  /** Ends the thread; resolves when it has exited, so that its messages have all arrived. */
  terminate(): Promise<void>;
}

/**
 * The worker threads of a runner, one task a thread. Threads are made when first needed and let go
 * after half a minute idle; one stays warm.
 *
 * `atomics: 'disabled'`: under Piscina's default an idle thread sleeps in `Atomics.wait`, so a child
 * that outlives its task is never reaped there, and a task costs twice as much.
 *
 * `trackUnmanagedFds: false`: threads close descriptors that the main thread opened for them (the
 * FIFOs of a step). Node would warn of each, and at a thread's end close numbers that by then are
 * another thread's.
 */
export class WorkerPool {
  readonly #pool: Piscina;
  /** Those that no thread has begun. */
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(workerFile: string, maxThreads: number) {
    this.#pool = new Piscina({
      filename: workerFile,
      minThreads: 1,
      maxThreads,
      idleTimeout: 30_000,
      concurrentTasksPerWorker: 1,
      atomics: 'disabled',
      recordTiming: false,
      trackUnmanagedFds: false,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    });
    // A thread that fails to start leaves `run()` pending for ever: only this event tells, and not of
    // which run. Those in threads that have begun hear of their thread's end themselves.
    this.#pool.on('error', (error: unknown) => {
      const failure = error instanceof Error ? error : new Error(String(error));
      for (const fail of this.#waiting) fail(failure);
    });
  }

  run(task: WorkerTask, transfer: MessagePort): RunningTask {
    const abort = new AbortController();
    const running = this.#pool.run(task, { transferList: [transfer], signal: abort.signal });
    let fail: (error: Error) => void = () => {};
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    this.#waiting.add(fail);
    const begun = (): void => void this.#waiting.delete(fail);
    const ended = Promise.race([running, failed])
      .then(
        (result): TaskEnd => ({ type: 'result', result: result as TaskResult }),
        (error: unknown): TaskEnd => ({ type: 'died', why: oneLine(error) }),
      )
      .finally(begun);
    // Once: the pool forgets a thread at its abort, so a second call would find nothing to wait for.
    let terminating: Promise<void> | null = null;
    return { ended, begun, terminate: () => (terminating ??= this.#terminate(abort, ended)) };
  }

  /** Piscina's abort rejects before the thread has ended, so the exits of those it drops are awaited. */
  async #terminate(abort: AbortController, ended: Promise<TaskEnd>): Promise<void> {
    const unheard = new AbortController();
    const before = this.#pool.threads.map((worker) => ({
      worker,
      exit: once(worker, 'exit', { signal: unheard.signal }).catch(() => {}),
    }));
    abort.abort();
    await ended;
    const kept = new Set(this.#pool.threads);
    await Promise.all(before.filter(({ worker }) => !kept.has(worker)).map(({ exit }) => exit));
    unheard.abort();
  }

  /** Threads that exist now. */
  get threads(): number {
    return this.#pool.threads.length;
  }

  /** Ends all threads; tasks must have ended. Idempotent. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}
