/** What has to be ended, last in, first out; each whatever the others do. */
export class Releasers {
  readonly #steps: { readonly what: string; readonly release: () => Promise<void> | void }[] = [];
  readonly #onError: (what: string, error: unknown) => void;
  #closing: Promise<void> | null = null;

  constructor(onError: (what: string, error: unknown) => void) {
    this.#onError = onError;
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
        await step.release();
      } catch (error) {
        this.#onError(step.what, error);
      }
    }
  }
}
