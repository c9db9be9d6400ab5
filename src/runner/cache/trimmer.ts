import { statfsSync } from 'node:fs';
import { oneLine } from '../../shared/errors.ts';
import { runChore } from '../../shared/lock/chore.ts';
import type { FileThread } from '../dir/file-thread.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import type { RunnerLog, SizeOrShare } from '../options.ts';
import { Breather } from './breather.ts';
import type { Namespaces } from './namespaces.ts';
import { type Eviction, evict, type Removed, type TrimEntry } from './plan-trim.ts';
import type { SavedCheckouts } from './saved-checkouts.ts';

export interface TrimLimits {
  readonly cacheSize: SizeOrShare;
  readonly gitSize: SizeOrShare;
  readonly minFree: SizeOrShare;
}

export type TrimProgress = (at: { done: number; of: number; what: 'cache' | 'git' }) => void;

export interface Trimmed {
  readonly cache: Eviction;
  readonly git: Eviction;
}

/**
 * Keeps a directory within its limits: measures on the file thread what has changed since it was last
 * measured, and evicts here, each thing under its own guard. One process has the turn at a time, which
 * saves work and is not what keeps anything safe.
 */
export class Trimmer {
  readonly #dir: RunnerDir;
  readonly #namespaces: Namespaces;
  readonly #saved: SavedCheckouts;
  readonly #files: FileThread;
  readonly #trash: Trash;
  readonly #limits: TrimLimits;
  readonly #log: RunnerLog;

  constructor(parts: {
    dir: RunnerDir;
    namespaces: Namespaces;
    saved: SavedCheckouts;
    files: FileThread;
    trash: Trash;
    limits: TrimLimits;
    log: RunnerLog;
  }) {
    this.#dir = parts.dir;
    this.#namespaces = parts.namespaces;
    this.#saved = parts.saved;
    this.#files = parts.files;
    this.#trash = parts.trash;
    this.#limits = parts.limits;
    this.#log = parts.log;
  }

  /** Whether less is free than `--min-free`. */
  isLow(): boolean {
    const disk = diskOf(this.#dir.layout.root);
    return disk.freeBytes < bytesOf(this.#limits.minFree, disk.totalBytes);
  }

  /**
   * One turn; null where another process has it, or where it failed, which is said and tried again by
   * the next. Never rejects. `stop` ends it between two things; `onProgress` hears what is measured.
   */
  async trim(stop?: AbortSignal, onProgress: TrimProgress = () => {}): Promise<Trimmed | null> {
    let trimmed: Trimmed | null = null;
    try {
      await runChore(this.#dir.layout.locks, 'trim', async (robbed) => {
        const signal = stop ? AbortSignal.any([robbed, stop]) : robbed;
        this.#trash.empty();
        await this.#removeUnwanted();
        this.#namespaces.tidyRecords();
        // What is on its way out still counts on the disk: without this wait, too much would follow it.
        if (this.isLow()) await this.#trash.settled();
        trimmed = await this.#evictAll(signal, onProgress);
        for (const name of this.#saved.names()) {
          if (!signal.aborted) await this.#saved.maintain(name, signal);
        }
      });
    } catch (error) {
      if (!stop?.aborted) this.#log.warn({}, `trimming failed and is tried again: ${oneLine(error)}`);
    }
    return trimmed;
  }

  /** For a start with `--no-cache`: removes every namespace that nobody uses. */
  async clearFree(): Promise<{ removed: string[]; busy: string[] }> {
    const removed: string[] = [];
    const busy: string[] = [];
    const breather = new Breather();
    for (const name of this.#namespaces.records.names()) {
      await breather.breathe();
      (this.#namespaces.removeIfFree(name) === 'removed' ? removed : busy).push(name);
    }
    return { removed, busy };
  }

  /** Namespaces that a job with `--no-cache` could not remove at its end, since somebody used them. */
  async #removeUnwanted(): Promise<void> {
    const breather = new Breather();
    for (const name of this.#namespaces.records.names()) {
      await breather.breathe();
      if (this.#namespaces.records.isUnwanted(name)) this.#namespaces.removeIfFree(name);
    }
  }

  async #evictAll(signal: AbortSignal, onProgress: TrimProgress): Promise<Trimmed> {
    const cacheEntries = await this.#measureNamespaces(signal, onProgress);
    const gitEntries = await this.#measureSaved(signal, onProgress);
    const disk = diskOf(this.#dir.layout.root);
    // Below --min-free the caches must give what is missing, whatever their own limit allows.
    const missing = Math.max(0, bytesOf(this.#limits.minFree, disk.totalBytes) - disk.freeBytes);
    const limit = (of: SizeOrShare, entries: readonly TrimEntry[], toGive: number): number => {
      const total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
      return Math.max(0, Math.min(bytesOf(of, disk.totalBytes), total - toGive));
    };
    const breather = new Breather();
    const evictBy = (remove: (name: string) => Removed) => async (name: string) => {
      await breather.breathe();
      return signal.aborted ? 'kept' : this.#tried(name, remove);
    };
    const cache = await evict(
      cacheEntries,
      limit(this.#limits.cacheSize, cacheEntries, missing),
      evictBy((name) => this.#evictNamespace(name, cacheEntries)),
    );
    const stillMissing = Math.max(0, missing - (cache.bytesBefore - cache.bytesAfter));
    const git = await evict(
      gitEntries,
      limit(this.#limits.gitSize, gitEntries, stillMissing),
      evictBy((name) => this.#saved.removeIfFree(name)),
    );
    this.#report('cache', cache);
    this.#report('git', git);
    return { cache, git };
  }

  /** One thing that cannot be removed does not keep the others. */
  #tried(name: string, remove: (name: string) => Removed): Removed {
    try {
      return remove(name);
    } catch (error) {
      this.#log.warn({ name }, `cannot be removed, and is tried again: ${oneLine(error)}`);
      return 'withstood';
    }
  }

  /** Used since it was measured: another is the least recently used one now. */
  #evictNamespace(name: string, entries: readonly TrimEntry[]): Removed {
    const seen = entries.find((entry) => entry.name === name)?.lastUsed;
    return this.#namespaces.removeIfFree(
      name,
      () => (this.#namespaces.records.read(name)?.lastUsed ?? 0) === seen,
    );
  }

  /** What was not used since it was measured keeps its size; what is in use grows and is measured anew. */
  async #measureNamespaces(signal: AbortSignal, onProgress: TrimProgress): Promise<TrimEntry[]> {
    const entries: TrimEntry[] = [];
    const { records } = this.#namespaces;
    const breather = new Breather();
    const names = records.names();
    for (const name of names) {
      if (signal.aborted) break;
      await breather.breathe();
      onProgress({ done: entries.length, of: names.length, what: 'cache' });
      const record = records.read(name);
      const known = record?.measuredAt != null && record.measuredAt > record.lastUsed;
      let bytes = known ? record.sizeBytes : null;
      if (bytes === null || this.#namespaces.inUse(name)) {
        const begun = Date.now();
        bytes = await this.#files.measure(this.#dir.layout.namespace(name));
        records.measured(name, bytes, this.#namespaces.inUse(name) ? null : begun);
      }
      entries.push({ name, bytes, lastUsed: record?.lastUsed ?? 0 });
    }
    return entries;
  }

  async #measureSaved(signal: AbortSignal, onProgress: TrimProgress): Promise<TrimEntry[]> {
    const entries: TrimEntry[] = [];
    const names = this.#saved.names();
    for (const name of names) {
      if (signal.aborted) break;
      onProgress({ done: entries.length, of: names.length, what: 'git' });
      const bytes = await this.#files.measure(this.#saved.path(name));
      entries.push({ name, bytes, lastUsed: this.#saved.lastUsed(name) });
    }
    return entries;
  }

  #report(what: string, eviction: Eviction): void {
    const { removed, busy, bytesBefore, bytesAfter, overshootBytes } = eviction;
    if (removed.length > 0) {
      this.#log.info({ what, removed: removed.length, bytesBefore, bytesAfter }, 'trimmed');
    }
    if (overshootBytes > 0) {
      this.#log.warn(
        { what, overshootBytes, busy: busy.length },
        'over its limit until what is in use finishes',
      );
    }
  }
}

export function bytesOf(size: SizeOrShare, totalBytes: number): number {
  return 'bytes' in size ? size.bytes : size.share * totalBytes;
}

/** Of the file system that holds a path; free is what an ordinary user may still take. */
export function diskOf(file: string): { freeBytes: number; totalBytes: number } {
  const stat = statfsSync(file);
  return { freeBytes: stat.bavail * stat.bsize, totalBytes: stat.blocks * stat.bsize };
}
