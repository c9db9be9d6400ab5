import { statfsSync } from 'node:fs';
import { oneLine } from '../../shared/errors.ts';
import { runChore } from '../../shared/lock/chore.ts';
import type { FileThreads } from '../dir/file-threads.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import type { RunnerLog, SizeOrShare } from '../options.ts';
import { keepersOf } from '../sweep/unowned-trees.ts';
import type { Namespaces } from './namespaces.ts';
import { breather, type Eviction, evict, type TrimEntry } from './plan-trim.ts';
import type { SavedCheckouts } from './saved-checkouts.ts';
import { Sizes } from './sizes.ts';

export interface TrimLimits {
  readonly cacheSize: SizeOrShare;
  readonly gitSize: SizeOrShare;
  readonly minFree: SizeOrShare;
}

export interface Trimmed {
  readonly cache: Eviction;
  readonly git: Eviction;
}

/** How far something that takes long has come; `total` may be 0. */
export type OnProgress = (what: 'measuring' | 'evicting', done: number, total: number) => void;

const UNHEARD: OnProgress = () => {};

/**
 * Keeps a directory within its limits: measures on the file thread what has changed since it was last
 * measured, and evicts here, each thing under its own guard. One process has the turn at a time, which
 * saves work and is not what keeps anything safe.
 */
export class Trimmer {
  readonly #dir: RunnerDir;
  readonly #namespaces: Namespaces;
  readonly #saved: SavedCheckouts;
  readonly #sizes: Sizes;
  readonly #trash: Trash;
  readonly #limits: TrimLimits;
  readonly #log: RunnerLog;
  /** Trees that were warned of. */
  readonly #warned = new Set<string>();
  /** What was in use when it was last said that the limit is passed, by what it is the limit of. */
  readonly #over = new Map<string, string>();

  constructor(parts: {
    dir: RunnerDir;
    namespaces: Namespaces;
    saved: SavedCheckouts;
    files: FileThreads;
    trash: Trash;
    limits: TrimLimits;
    log: RunnerLog;
  }) {
    this.#dir = parts.dir;
    this.#namespaces = parts.namespaces;
    this.#saved = parts.saved;
    this.#sizes = new Sizes(parts.dir, parts.namespaces, parts.saved, parts.files);
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
  async trim(onProgress: OnProgress = UNHEARD): Promise<Trimmed | null> {
    let trimmed: Trimmed | null = null;
    try {
      await runChore(this.#dir.layout.locks, 'trim', async (signal) => {
        this.#trash.empty();
        this.#warnOfKeepers();
        await this.#removeUnwanted();
        this.#namespaces.tidyRecords();
        // What is on its way out still counts on the disk: without this wait, too much would follow it.
        if (this.isLow()) await this.#trash.settled();
        trimmed = await this.#evictAll(signal, onProgress);
        for (const name of this.#saved.names()) await this.#saved.maintain(name, signal);
      });
    } catch (error) {
      this.#log.warn({}, `trimming failed and is tried again: ${oneLine(error)}`);
    }
    return trimmed;
  }

  /** For a start with `--no-cache`: removes every namespace that nobody uses. */
  async clearFree(onProgress: OnProgress = UNHEARD): Promise<{ removed: string[]; busy: string[] }> {
    const removed: string[] = [];
    const busy: string[] = [];
    const names = this.#namespaces.records.names();
    const breathe = breather();
    for (const [at, name] of names.entries()) {
      await breathe();
      onProgress('evicting', at, names.length);
      (this.#namespaces.removeIfFree(name) === 'removed' ? removed : busy).push(name);
    }
    return { removed, busy };
  }

  /** Once each: the report of what is in use would not say why. */
  #warnOfKeepers(): void {
    for (const { tree, why } of keepersOf(this.#dir)) {
      if (this.#warned.has(tree)) continue;
      this.#warned.add(tree);
      this.#log.warn({ tree }, why);
    }
  }

  /** Namespaces that a job with `--no-cache` could not remove at its end, since somebody used them. */
  async #removeUnwanted(): Promise<void> {
    const breathe = breather();
    for (const name of this.#namespaces.records.names()) {
      await breathe();
      if (this.#namespaces.records.isUnwanted(name)) this.#namespaces.removeIfFree(name);
    }
  }

  async #evictAll(signal: AbortSignal, onProgress: OnProgress): Promise<Trimmed> {
    const { cache: cacheEntries, git: gitEntries } = await this.#sizes.all(signal, (done, total) =>
      onProgress('measuring', done, total),
    );
    const disk = diskOf(this.#dir.layout.root);
    // Below --min-free the caches must give what is missing, whatever their own limit allows.
    const missing = Math.max(0, bytesOf(this.#limits.minFree, disk.totalBytes) - disk.freeBytes);
    const limit = (of: SizeOrShare, entries: readonly TrimEntry[], toGive: number): number => {
      const total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
      return Math.max(0, Math.min(bytesOf(of, disk.totalBytes), total - toGive));
    };
    const used = new Map(cacheEntries.map(({ name, lastUsed }) => [name, lastUsed]));
    let tried = 0;
    const cache = await evict(cacheEntries, limit(this.#limits.cacheSize, cacheEntries, missing), (name) => {
      onProgress('evicting', (tried += 1), cacheEntries.length);
      return signal.aborted ? 'kept' : this.#evictNamespace(name, used);
    });
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

  #report(what: string, eviction: Eviction): void {
    const { removed, busy, bytesBefore, bytesAfter, overshootBytes } = eviction;
    if (removed.length > 0) {
      this.#log.info({ what, removed: removed.length, bytesBefore, bytesAfter }, 'trimmed');
    }
    // Said again when it is something else that is in use.
    const over = overshootBytes > 0 ? busy.join(' ') : null;
    if (over !== null && over !== this.#over.get(what)) {
      this.#log.warn(
        { what, overshootBytes, busy: busy.length },
        'over its limit until what is in use finishes',
      );
    }
    if (over === null) this.#over.delete(what);
    else this.#over.set(what, over);
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
