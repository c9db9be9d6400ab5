import { setTimeout as delay } from 'node:timers/promises';

const AGAIN_MS = 2_000;

/**
 * What goes on behind a run that has been reported, while its slot takes the next: the removal of its
 * container, which keeps the run's guards until it is done. Tried again while the engine is away. What
 * is left when the process ends, the next start on the directory finishes.
 */
export class Afterwards {
  readonly #most: number;
  readonly #closing = new AbortController();
  readonly #working = new Set<Promise<void>>();
  /** Those that are tried for the first time. */
  readonly #fresh = new Set<Promise<boolean>>();

  /** `most`: how many may go on at once before a slot has to wait. */
  constructor(most: number) {
    this.#most = most;
  }

  /** `work` gives whether it is done. */
  add(work: () => Promise<boolean>): void {
    const first = work();
    this.#fresh.add(first);
    void first.then(() => this.#fresh.delete(first));
    const working = this.#repeat(first, work).finally(() => this.#working.delete(working));
    this.#working.add(working);
  }

  /** Resolves when a slot may make more of it: an engine that is slow to remove is not given ever more. */
  async room(): Promise<void> {
    while (this.#fresh.size >= this.#most) await Promise.race(this.#fresh);
  }

  /** Resolves when nothing is being tried any more. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#working);
  }

  async #repeat(first: Promise<boolean>, work: () => Promise<boolean>): Promise<void> {
    const { signal } = this.#closing;
    for (let done = await first; !done; done = await work()) {
      if (!signal.aborted) await delay(AGAIN_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
  }
}
