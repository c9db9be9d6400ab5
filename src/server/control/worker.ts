import { setTimeout as delay } from 'node:timers/promises';
import type { TaskKind } from '../../shared/api-forge.ts';
import { oneLine } from '../../shared/errors.ts';
import type { Clock } from '../../shared/platform/clock.ts';
import type { Task, TaskEnd, TaskStore } from '../store/control.ts';
import type { TaskHandler, TaskHandlers, TaskResult } from './handler.ts';
import { endOf } from './retry.ts';

/** A clock that was set is noticed within it. */
const MAX_SLEEP_MS = 5_000;
/** After a write that failed, from a full disk mostly. */
const RETRY_MS = 1_000;
const AT_ONCE = 256;
const PER_LANE = 4;

export interface ControlWorkerParts {
  readonly tasks: TaskStore;
  readonly events: { onTasks(listener: () => void): () => void };
  readonly handlers: TaskHandlers;
  readonly clock: Clock;
  readonly random: () => number;
  /** Gone wrong beside the tasks' own failures. */
  readonly onFault: (error: unknown, where: string) => void;
  readonly onDead: (task: Task, why: string) => void;
}

/**
 * Does the control tasks: apart from the runs, a few at once, and of one kind and repository no more than some,
 * so that a forge that hangs holds up nobody else's. Recovery of what a dead process left ends before the first
 * claim.
 */
export class ControlWorker {
  readonly #parts: ControlWorkerParts;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #unsubscribe: () => void = () => {};
  #timer: NodeJS.Timeout | null = null;
  #pumping: Promise<void> | null = null;
  #again = false;

  constructor(parts: ControlWorkerParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    await this.#parts.tasks.recover();
    this.#unsubscribe = this.#parts.events.onTasks(() => this.#wake());
    this.#wake();
  }

  /** Waits for what is in flight: whoever closes ends the forge's requests first. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#unsubscribe();
    if (this.#timer) clearTimeout(this.#timer);
    await this.#pumping;
    await Promise.all(this.#inFlight);
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  #wake(): void {
    if (this.#closed) return;
    this.#again = true;
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = null;
      if (this.#again) this.#wake();
    });
  }

  async #pump(): Promise<void> {
    const { tasks, clock, onFault } = this.#parts;
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        await this.#claimAll();
      }
      const next = await tasks.nextDue();
      if (next !== null) this.#sleep(next - clock.now());
    } catch (error) {
      onFault(error, 'claiming control tasks');
      this.#sleep(RETRY_MS);
    }
  }

  async #claimAll(): Promise<void> {
    while (this.#inFlight.size < AT_ONCE && !this.#closed) {
      const task = await this.#parts.tasks.claim(PER_LANE);
      if (task === null) return;
      const doing = this.#do(task).finally(() => {
        this.#inFlight.delete(doing);
        this.#wake();
      });
      this.#inFlight.add(doing);
    }
  }

  #sleep(inMs: number): void {
    if (this.#closed) return;
    if (this.#timer) clearTimeout(this.#timer);
    // One more, since a timer may fire a fraction early.
    this.#timer = setTimeout(() => this.#wake(), Math.min(Math.max(inMs, 0), MAX_SLEEP_MS) + 1);
    this.#timer.unref();
  }

  async #do(task: Task): Promise<void> {
    const handler = this.#parts.handlers[task.kind] as TaskHandler<TaskKind>;
    const result = await this.#attempt(task, handler);
    let end = endOf(result, task.attempts, this.#parts.random());
    if (this.#closed && result.type === 'failed')
      end = { type: 'again', why: result.why, inMs: 0, counts: false };
    await this.#finish(task, handler, end);
  }

  async #attempt(task: Task, handler: TaskHandler<TaskKind>): Promise<TaskResult> {
    try {
      return await handler.perform(task);
    } catch (error) {
      this.#parts.onFault(error, `control task ${task.id} (${task.kind})`);
      return { type: 'failed', why: oneLine(error), retryAfterMs: null, asked: true };
    }
  }

  /** Until it is written: a task that stayed claimed would wait for the next start. */
  async #finish(task: Task, handler: TaskHandler<TaskKind>, end: TaskEnd): Promise<void> {
    for (;;) {
      try {
        if (end.type === 'dead') await handler.gaveUp?.(task, end.why);
        await this.#parts.tasks.finish(task, end);
        if (end.type === 'dead') this.#parts.onDead(task, end.why);
        return;
      } catch (error) {
        this.#parts.onFault(error, `writing the end of control task ${task.id}`);
      }
      const waited = await delay(RETRY_MS, true, { signal: this.#closing.signal }).catch(() => false);
      if (!waited) return;
    }
  }
}
