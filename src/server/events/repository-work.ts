import { setTimeout as delay } from 'node:timers/promises';
import { VoleError } from '../../shared/errors.ts';

/** Work that waits in the store, by repository. */
export interface WorkSource {
  /** Repositories that have some. */
  waiting(): Promise<readonly string[]>;
  /**
   * Does a part of one repository's, in order, so that less is waiting after it. Throws what is to be
   * tried again later; `tries` counts how often in a row that was so.
   */
  work(repository: string, tries: number): Promise<void>;
}

export interface WorkParts {
  readonly source: WorkSource;
  /** Repositories worked on at once. */
  readonly atOnce: number;
  /** How long a repository rests after a part that took so long, so that more is done by the next. */
  readonly restMs: (tookMs: number) => number;
  readonly backoffMs: (tries: number) => number;
  readonly onFault: (error: unknown, repository: string, tries: number) => void;
}

/**
 * Works off what is in the store: of each repository in order and one at a time, of several at once. What
 * is in the store when the process starts is work like any other, so nothing needs to be recovered. One
 * that fails waits, and holds back no other repository.
 *
 * ```
 * idle --poke--> looking --has some, a place is free--> working --done, threw--> resting --time--> looking
 * ```
 */
export class RepositoryWork {
  readonly #parts: WorkParts;
  readonly #working = new Map<string, Promise<void>>();
  readonly #resting = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #closing = new AbortController();
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(parts: WorkParts) {
    this.#parts = parts;
  }

  /** Something may be waiting. */
  poke(): void {
    this.#again = true;
    this.#looking ??= this.#look().finally(() => (this.#looking = null));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    while (this.#looking !== null || this.#working.size > 0)
      await Promise.allSettled([this.#looking, ...this.#working.values()]);
  }

  async #look(): Promise<void> {
    while (this.#again && !this.#closing.signal.aborted) {
      // who ends looks again
      if (this.#working.size >= this.#parts.atOnce) return;
      this.#again = false;
      try {
        for (const repository of await this.#parts.source.waiting()) this.#start(repository);
      } catch (error) {
        this.#parts.onFault(error, '', 0);
        this.#rest('', this.#parts.backoffMs(1));
        return;
      }
    }
  }

  #start(repository: string): void {
    if (this.#closing.signal.aborted || this.#working.size >= this.#parts.atOnce) return;
    if (this.#working.has(repository) || this.#resting.has(repository)) return;
    const done = this.#work(repository).finally(() => {
      this.#working.delete(repository);
      this.poke();
    });
    this.#working.set(repository, done);
  }

  async #work(repository: string): Promise<void> {
    const tries = this.#tries.get(repository) ?? 0;
    const began = performance.now();
    try {
      await this.#parts.source.work(repository, tries);
      this.#tries.delete(repository);
      const restMs = this.#parts.restMs(performance.now() - began);
      if (restMs > 0) this.#rest(repository, restMs);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      if (!(error instanceof VoleError && error.code === 'interrupted'))
        this.#parts.onFault(error, repository, tries + 1);
      this.#tries.set(repository, tries + 1);
      this.#rest(repository, this.#parts.backoffMs(tries + 1));
    }
  }

  #rest(repository: string, ms: number): void {
    this.#resting.add(repository);
    const { signal } = this.#closing;
    delay(ms, undefined, { signal }).then(
      () => {
        this.#resting.delete(repository);
        this.poke();
      },
      () => {}, // the server closes
    );
  }
}

const MOST_REST_MS = 2_000;

/** Twice as long: git programs, each of which holds the process up as it starts, take a third of the time. */
export function restAfterGit(tookMs: number): number {
  return Math.min(MOST_REST_MS, 2 * tookMs);
}

const MOST_MS = 5 * 60_000;

/** A second, doubled with each try up to five minutes, less up to a half of it at random. */
export function backoffMs(tries: number, random: () => number = Math.random): number {
  const whole = Math.min(MOST_MS, 1_000 * 2 ** Math.min(tries - 1, 20));
  return Math.round(whole * (1 - random() / 2));
}
