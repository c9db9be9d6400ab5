import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 2_000;

/**
 * What a run could not finish, such as removing its container while the engine is away: tried again
 * until it is done or the process ends. What is left then, the next start on the directory finishes.
 */
export class Afterwards {
  readonly #closing = new AbortController();
  readonly #working = new Set<Promise<void>>();

  /** `work` gives whether it is done. */
  add(work: () => Promise<boolean>): void {
    const working = this.#repeat(work).finally(() => this.#working.delete(working));
    this.#working.add(working);
  }

  /** Resolves when nothing is being tried any more. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#working);
  }

  async #repeat(work: () => Promise<boolean>): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await delay(EVERY_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted || (await work())) return;
    }
  }
}
