/** One task of a name at a time, in the order asked; tasks of other names do not wait for it. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(name: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const result = before.then(task);
    const done = Promise.allSettled([result]);
    this.#last.set(name, done);
    try {
      return await result;
    } finally {
      if (this.#last.get(name) === done) this.#last.delete(name);
    }
  }

  /** Resolves when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
