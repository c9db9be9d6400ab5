import { ERRORS, VoleError } from '../../shared/errors.ts';
import type { CliContext } from '../context.ts';

/** A terminal's ctrl-C and a supervisor's TERM often come together: within this they are one. */
const GAP_MS = 300;
/** What a shell reports of a program that SIGPIPE ended. */
const CLOSED_OUTPUT_EXIT = 141;

/**
 * What ends `vole run` early: signals, each more urgent than the one before, or that whoever read its
 * output has gone, which is as a first signal. From its making to its close nothing of this ends the
 * process by itself, so that jobs are ended and temporary files removed.
 */
export class Interruption {
  readonly #context: CliContext;
  readonly #abort = new AbortController();
  readonly #off: (() => void)[];
  #level = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #closed = false;
  #listener: (level: number) => void = () => {};

  constructor(context: CliContext) {
    this.#context = context;
    const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    this.#off = names.map((name) => context.onSignal(name, () => this.#signal()));
    context.onClosedOutput = () => {
      this.#closed = true;
      if (this.#level === 0) this.#raise();
    };
  }

  /** Aborts at the first. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whoever read the output has gone. */
  get unread(): boolean {
    return this.#closed;
  }

  /** Null while nothing has interrupted. */
  get exitStatus(): number | null {
    if (this.#closed) return CLOSED_OUTPUT_EXIT;
    return this.#level > 0 ? ERRORS.interrupted.exit : null;
  }

  /** Called with 1 for the first signal, 2 for the second, and so on; at once for one that has been. */
  onRaised(listener: (level: number) => void): void {
    this.#listener = listener;
    for (let level = 1; level <= this.#level; level++) listener(level);
  }

  /** The work's result, unless it is interrupted first; what the work then does is not waited for. */
  async orInterrupted<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {});
    const interrupted = new Promise<never>((_, reject) => {
      const stop = (): void => reject(new VoleError('interrupted', 'interrupted before any job began'));
      if (this.signal.aborted) stop();
      else this.signal.addEventListener('abort', stop, { once: true });
    });
    return await Promise.race([work, interrupted]);
  }

  /** Signals do what they did before. Idempotent. */
  close(): void {
    for (const off of this.#off.splice(0)) off();
    if (!this.#closed) this.#context.onClosedOutput = 'end';
  }

  #signal(): void {
    const now = performance.now();
    if (now - this.#lastAt < GAP_MS) return;
    this.#lastAt = now;
    this.#raise();
  }

  #raise(): void {
    this.#level++;
    this.#abort.abort();
    this.#listener(this.#level);
  }
}
