import { statfsSync } from 'node:fs';
import { oneLine } from '../../shared/errors.ts';
import { runChore } from '../../shared/lock/chore.ts';
import type { FileThread } from '../dir/file-thread.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import type { RunnerLog, SizeOrShare } from '../options.ts';
import type { Namespaces } from './namespaces.ts';
import { breather, type Eviction, evict, type TrimEntry } from './plan-trim.ts';
import type { SavedCheckouts } from './saved-checkouts.ts';

export interface TrimLimits {
  readonly cacheSize: SizeOrShare;
  readonly gitSize: SizeOrShare;
  readonly minFree: SizeOrShare;
}

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

  /** One turn; null where another process has it. Never rejects: a trim that fails is tried again later. */
  async trim(): Promise<Trimmed | null> {
    let trimmed: Trimmed | null = null;
    try {
      await runChore(this.#dir.layout.locks, 'trim', async (signal) => {
        this.#trash.empty();
        this.#removeUnwanted();
        this.#namespaces.tidyRecords();
        // What is on its way out still counts on the disk: without this wait, too much would follow it.
        if (this.isLow()) await this.#trash.settled();
        trimmed = await this.#evictAll(signal);
        for (const name of this.#saved.names()) await this.#saved.maintain(name, signal);
      });
    } catch (error) {
      this.#log.warn({}, `trimming failed and is tried again: ${oneLine(error)}`);
    }
    return trimmed;
  }

  /** For a start with `--no-cache`: removes every namespace that nobody uses. */
  clearFree(): { removed: string[]; busy: string[] } {
    const removed: string[] = [];
    const busy: string[] = [];
    for (const name of this.#namespaces.records.names()) {
      (this.#namespaces.removeIfFree(name) === 'removed' ? removed : busy).push(name);
    }
    return { removed, busy };
  }

  /** Namespaces that a job with `--no-cache` could not remove at its end, since somebody used them. */
  #removeUnwanted(): void {
    for (const name of this.#namespaces.records.names()) {
      if (this.#namespaces.records.isUnwanted(name)) this.#namespaces.removeIfFree(name);
    }
  }

  async #evictAll(signal: AbortSignal): Promise<Trimmed> {
    const cacheEntries = await this.#measureNamespaces(signal);
    const gitEntries = await this.#measureSaved(signal);
    const disk = diskOf(this.#dir.layout.root);
    // Below --min-free the caches must give what is missing, whatever their own limit allows.
    const missing = Math.max(0, bytesOf(this.#limits.minFree, disk.totalBytes) - disk.freeBytes);
    const limit = (of: SizeOrShare, entries: readonly TrimEntry[], toGive: number): number => {
      const total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
      return Math.max(0, Math.min(bytesOf(of, disk.totalBytes), total - toGive));
    };
    const used = new Map(cacheEntries.map(({ name, lastUsed }) => [name, lastUsed]));
    const cache = await evict(cacheEntries, limit(this.#limits.cacheSize, cacheEntries, missing), (name) =>
      signal.aborted ? 'kept' : this.#evictNamespace(name, used),
    );
    const stillMissing = Math.max(0, missing - (cache.bytesBefore - cache.bytesAfter));
    const git = await evict(gitEntries, limit(this.#limits.gitSize, gitEntries, stillMissing), (name) =>
      signal.aborted ? 'kept' : this.#saved.removeIfFree(name),
    );
    this.#report('cache', cache);
    this.#report('git', git);
    return { cache, git };
  }

  /** Used since it was measured: another is the least recently used one now. */
  #evictNamespace(name: string, entries: ReadonlyMap<string, number>): 'removed' | 'busy' | 'kept' {
    const seen = entries.get(name);
    return this.#namespaces.removeIfFree(
      name,
      () => (this.#namespaces.records.read(name)?.lastUsed ?? 0) === seen,
    );
  }

  async #measureNamespaces(signal: AbortSignal): Promise<TrimEntry[]> {
    const entries: TrimEntry[] = [];
    const breathe = breather();
    for (const name of this.#namespaces.records.names()) {
      await breathe();
      if (signal.aborted) break;
      const record = this.#namespaces.records.read(name);
      const known = record?.measuredAt != null && record.measuredAt > record.lastUsed;
      let bytes = known ? record.sizeBytes : null;
      // What is in use may grow: it is measured anew each time, and again once it is free.
      if (bytes === null || this.#namespaces.inUse(name)) {
        const begun = Date.now();
        bytes = await this.#files.measure(this.#dir.layout.namespace(name));
        this.#namespaces.records.measured(name, bytes, this.#namespaces.inUse(name) ? null : begun);
      }
      entries.push({ name, bytes, lastUsed: record?.lastUsed ?? 0 });
    }
    return entries;
  }

  async #measureSaved(signal: AbortSignal): Promise<TrimEntry[]> {
    const entries: TrimEntry[] = [];
    for (const name of this.#saved.names()) {
      if (signal.aborted) break;
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
