import type { RunEvents } from '../store/store.ts';

/**
 * Passes on what the store tells after each commit. It stands between the two because the store is opened
 * first and is given it, while the queue that listens is made on the store. A listener may not throw.
 */
export class RunEventHub implements RunEvents {
  readonly #leasable = new Set<() => void>();
  readonly #keysRemoved = new Set<() => void>();
  readonly #tasks = new Set<() => void>();
  readonly #changed = new Set<(run: number) => void>();

  leasable(): void {
    for (const listener of this.#leasable) listener();
  }

  changed(run: number): void {
    for (const listener of this.#changed) listener(run);
  }

  tasks(): void {
    for (const listener of this.#tasks) listener();
  }

  keysRemoved(): void {
    for (const listener of this.#keysRemoved) listener();
  }

  /** Returns the function that ends the subscription. */
  onKeysRemoved(listener: () => void): () => void {
    this.#keysRemoved.add(listener);
    return () => void this.#keysRemoved.delete(listener);
  }

  /** Returns the function that ends the subscription. */
  onTasks(listener: () => void): () => void {
    this.#tasks.add(listener);
    return () => void this.#tasks.delete(listener);
  }

  /** Returns the function that ends the subscription. */
  onLeasable(listener: () => void): () => void {
    this.#leasable.add(listener);
    return () => void this.#leasable.delete(listener);
  }

  /** Returns the function that ends the subscription. */
  onChange(listener: (run: number) => void): () => void {
    // A function of its own, so that one who subscribes twice is told twice.
    const own = (run: number) => listener(run);
    this.#changed.add(own);
    return () => void this.#changed.delete(own);
  }
}
