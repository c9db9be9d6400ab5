const MOST_MS = 5_000;

/**
 * What has to be ended, last in, first out; each whatever the others do. One that takes longer than
 * its bound is left behind and reported, so that the rest, and the process, end all the same.
 */
export class Releasers {
  readonly #steps: { readonly what: string; readonly release: () => Promise<void> | void }[] = [];
  readonly #onError: (what: string, error: unknown) => void;
  readonly #mostMs: number;
  #closing: Promise<void> | null = null;

  constructor(onError: (what: string, error: unknown) => void, mostMs = MOST_MS) {
    this.#onError = onError;
    this.#mostMs = mostMs;
  }

  add(what: string, release: () => Promise<void> | void): void {
    this.#steps.push({ what, release });
  }

  /** Idempotent: who comes later waits for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#releaseAll();
    return this.#closing;
  }

  async #releaseAll(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await this.#bounded(step.release);
      } catch (error) {
        this.#onError(step.what, error);
      }
    }
  }

  async #bounded(release: () => Promise<void> | void): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not closed within ${this.#mostMs} ms`)), this.#mostMs);
    });
    try {
      await Promise.race([release(), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
