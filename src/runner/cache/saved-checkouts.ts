import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { guardName } from '../../shared/dir-layout.ts';
import { runCommand } from '../../shared/platform/commands.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import type { OwnersOf } from './owners-of.ts';

const SUFFIX = '.git';
/** While a fetch makes one, see the worker's checkout. */
const HALF_MADE = `${SUFFIX}.new`;
/** Git's own measure for when packing is worth it (`gc.autoPackLimit`). */
const MANY_PACKS = 50;
/** The same for objects in files of their own (`gc.auto`), which small fetches leave. */
const MANY_LOOSE = 6_700;
/** A commit that was not fetched anew for this long is pinned no more. */
const PIN_MS = 30 * 86_400_000;
const MAINTENANCE_MS = 30 * 60_000;

export interface Tidied {
  /** What git processes that were killed had left, below `git/`. */
  readonly removed: readonly string[];
  /** Old pins that were removed. */
  readonly unpinned: number;
  /** Saved checkouts that were passed over since they are in use. */
  readonly busy: readonly string[];
}

/**
 * The saved checkouts of a directory. Removing or repacking one needs its guard alone: jobs hold it
 * shared while their trees borrow objects, and fetchers hold it shared while they add some.
 */
export class SavedCheckouts {
  readonly #dir: RunnerDir;
  readonly #trash: Trash;
  readonly #owners: OwnersOf;

  constructor(dir: RunnerDir, trash: Trash, owners: OwnersOf) {
    this.#dir = dir;
    this.#trash = trash;
    this.#owners = owners;
  }

  names(): string[] {
    return readdirSync(this.#dir.layout.git)
      .filter((name) => name.endsWith(SUFFIX))
      .map((name) => name.slice(0, -SUFFIX.length));
  }

  path(name: string): string {
    return this.#dir.layout.savedCheckout(name);
  }

  /** Marks it as used now; the directory's own time is the record. */
  used(name: string): void {
    try {
      utimesSync(this.path(name), new Date(), new Date());
    } catch {
      // not there yet: the fetch makes it
    }
  }

  /** Epoch ms; 0 where it is gone. */
  lastUsed(name: string): number {
    return statSync(this.path(name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  removeIfFree(name: string): 'removed' | 'busy' {
    return this.#alone(name, () => void this.#trash.put(this.path(name))) ? 'removed' : 'busy';
  }

  /** At a start: clears what a git that was killed left, and pins that nobody has wanted for long. */
  tidy(): Tidied {
    const removed: string[] = [];
    const busy: string[] = [];
    let unpinned = 0;
    for (const name of this.names()) {
      const alone = this.#alone(name, () => {
        unpinned += this.#clear(name, removed);
      });
      if (!alone) busy.push(name);
    }
    this.#removeHalfMade(removed);
    return { removed, unpinned, busy };
  }

  /**
   * Reads every object. `skipped` where somebody has it alone or git did not get to its end; `damage` is
   * what git says of it. Held shared, as by a job that reads it: fetches go on.
   */
  async verify(name: string): Promise<'whole' | 'skipped' | { damage: string }> {
    const guard = this.#dir.guards.try(guardName.savedCheckout(name), 'shared');
    if (!guard) return 'skipped';
    try {
      const git = ['-c', 'core.commitGraph=false', 'fsck', '--no-dangling', '--no-progress', '--no-reflogs'];
      const cwd = this.path(name);
      // Named, or git would look for a repository above a folder that is none any more.
      const done = await runCommand('git', ['--git-dir', cwd, ...git], { cwd, timeoutMs: MAINTENANCE_MS });
      if (done.ok) return 'whole';
      return done.missing || done.timedOut ? 'skipped' : { damage: done.why };
    } finally {
      guard.release();
    }
  }

  /** Packs what has become many packs or many single objects. Nobody fetches or reads meanwhile, and no object is dropped. */
  async maintain(name: string, signal: AbortSignal): Promise<'maintained' | 'busy' | 'not-needed'> {
    if (this.#packs(name) < MANY_PACKS && this.#looseObjects(name) < MANY_LOOSE) return 'not-needed';
    const guard = this.#dir.guards.try(guardName.savedCheckout(name), 'exclusive');
    if (!guard) return 'busy';
    try {
      if (this.#owners.ofSavedCheckout(name)) return 'busy';
      // -a -d without pruning: every commit that a job may want is pinned by a ref under refs/vole/.
      const git = ['-c', 'gc.auto=0', 'repack', '-q', '-a', '-d', '-k'];
      const done = await runCommand('git', git, { cwd: this.path(name), signal, timeoutMs: MAINTENANCE_MS });
      return done.ok ? 'maintained' : 'busy';
    } finally {
      guard.release();
    }
  }

  /** Gives the number of old pins that it removed. */
  #clear(name: string, removed: string[]): number {
    let unpinned = 0;
    const root = this.path(name);
    for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      const base = path.basename(file);
      const isLeft = base.endsWith('.lock') || base.startsWith('tmp_');
      const isOldPin = !isLeft && this.#isOldPin(root, file);
      if (!isLeft && !isOldPin) continue;
      // A directory of that kind is what a git that received objects had for them.
      rmSync(path.join(root, file), { force: true, recursive: true });
      if (isOldPin) unpinned += 1;
      else removed.push(path.join(`${name}${SUFFIX}`, file));
    }
    return unpinned;
  }

  /** Repositories whose making was interrupted before they had their name; whoever makes one fetches. */
  #removeHalfMade(removed: string[]): void {
    for (const entry of readdirSync(this.#dir.layout.git)) {
      if (!entry.endsWith(HALF_MADE)) continue;
      const guard = this.#dir.guards.try(guardName.fetch(entry.slice(0, -HALF_MADE.length)), 'exclusive');
      if (!guard) continue;
      const gone = this.#trash.tryPut(path.join(this.#dir.layout.git, entry));
      guard.release();
      if (gone === 'put') removed.push(entry);
    }
  }

  #isOldPin(root: string, file: string): boolean {
    if (path.dirname(file) !== path.join('refs', 'vole')) return false;
    const stat = statSync(path.join(root, file), { throwIfNoEntry: false });
    return stat !== undefined && Date.now() - stat.mtimeMs > PIN_MS;
  }

  #alone(name: string, work: () => void): boolean {
    const guard = this.#dir.guards.try(guardName.savedCheckout(name), 'exclusive');
    if (!guard) return false;
    try {
      if (this.#owners.ofSavedCheckout(name)) return false;
      work();
      return true;
    } finally {
      guard.release();
    }
  }

  #packs(name: string): number {
    return this.#files(name, 'pack').filter((file) => file.endsWith('.pack')).length;
  }

  /** About as many: their names are spread evenly over 256 folders, of which one is counted. */
  #looseObjects(name: string): number {
    return this.#files(name, '17').length * 256;
  }

  #files(name: string, folder: string): string[] {
    try {
      return readdirSync(path.join(this.path(name), 'objects', folder));
    } catch {
      return [];
    }
  }
}
