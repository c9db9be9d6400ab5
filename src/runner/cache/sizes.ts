import type { FileThreads } from '../dir/file-threads.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Namespaces } from './namespaces.ts';
import { type Breathe, breather, type TrimEntry } from './plan-trim.ts';
import type { SavedCheckouts } from './saved-checkouts.ts';

/** Small namespaces are measured faster than they are asked for one by one. */
const AT_ONCE = 16;

/** What namespaces and saved checkouts take on the disk, measured where it may have changed since it last was. */
export class Sizes {
  readonly #dir: RunnerDir;
  readonly #namespaces: Namespaces;
  readonly #saved: SavedCheckouts;
  readonly #files: FileThreads;

  constructor(dir: RunnerDir, namespaces: Namespaces, saved: SavedCheckouts, files: FileThreads) {
    this.#dir = dir;
    this.#namespaces = namespaces;
    this.#saved = saved;
    this.#files = files;
  }

  /** Fewer where the signal aborts. Rejects where a tree cannot be measured. */
  async all(
    signal: AbortSignal,
    onProgress: (done: number, total: number) => void,
  ): Promise<{ cache: TrimEntry[]; git: TrimEntry[] }> {
    const names = this.#namespaces.records.names();
    const saved = this.#saved.names();
    let measured = 0;
    const hear = (): void => onProgress((measured += 1), names.length + saved.length);
    const breathe = breather();
    const cache = await some(names, signal, hear, (name) => this.#namespace(name, breathe));
    const git = await some(saved, signal, hear, (name) => this.#savedCheckout(name));
    return { cache, git };
  }

  async #namespace(name: string, breathe: Breathe): Promise<TrimEntry> {
    await breathe();
    const record = this.#namespaces.records.read(name);
    const known = record?.measuredAt != null && record.measuredAt > record.lastUsed;
    let bytes = known ? record.sizeBytes : null;
    // What is in use may grow: it is measured anew each time, and again once it is free.
    if (bytes === null || this.#namespaces.inUse(name)) {
      const begun = Date.now();
      bytes = await this.#files.measure(this.#dir.layout.namespace(name));
      this.#namespaces.records.measured(name, bytes, this.#namespaces.inUse(name) ? null : begun);
    }
    return { name, bytes, lastUsed: record?.lastUsed ?? 0 };
  }

  async #savedCheckout(name: string): Promise<TrimEntry> {
    const bytes = await this.#files.measure(this.#saved.path(name));
    return { name, bytes, lastUsed: this.#saved.lastUsed(name) };
  }
}

/** Measures those that are named, several at once. */
async function some(
  names: readonly string[],
  signal: AbortSignal,
  hear: () => void,
  measure: (name: string) => Promise<TrimEntry>,
): Promise<TrimEntry[]> {
  const entries: TrimEntry[] = [];
  const left = names.values();
  const lane = async (): Promise<void> => {
    for (const name of left) {
      if (signal.aborted) return;
      entries.push(await measure(name));
      hear();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return entries;
}
