import { existsSync } from 'node:fs';
import { DirLayout, savedCheckoutName } from '../../shared/dir-layout.ts';
import { VoleError } from '../../shared/errors.ts';
import { FileThread } from '../dir/file-thread.ts';
import { openDir, type RunnerDir } from '../dir/open-dir.ts';
import { Trash } from '../dir/trash.ts';
import type { RunnerLog } from '../options.ts';
import { Breather } from './breather.ts';
import type { NamespaceRecord } from './namespace-records.ts';
import { Namespaces } from './namespaces.ts';
import { OwnersOf } from './owners-of.ts';
import type { Removed } from './plan-trim.ts';
import { SavedCheckouts } from './saved-checkouts.ts';
import { type TrimLimits, Trimmer } from './trimmer.ts';

export interface ListedNamespace {
  readonly name: string;
  /** Null where the record is missing. */
  readonly record: NamespaceRecord | null;
  readonly inUse: boolean;
  /** A job with `--no-cache` wants it gone. */
  readonly unwanted: boolean;
}

export interface ListedCheckout {
  readonly name: string;
  readonly sizeBytes: number;
  readonly lastUsed: number;
  readonly inUse: boolean;
}

export interface Cleared {
  readonly removed: readonly string[];
  readonly busy: readonly string[];
}

/** The digest at the end of a name, with its hyphen. */
const DIGEST_LENGTH = 17;

/** What `vole cache` does with a runner's directory, beside any runners that use it. */
export class CacheAdmin {
  readonly dir: RunnerDir;
  readonly namespaces: Namespaces;
  readonly saved: SavedCheckouts;
  readonly #files: FileThread;
  readonly #trash: Trash;
  readonly #owners: OwnersOf;

  private constructor(dir: RunnerDir, fileThreadFile: string, warn: (line: string) => void) {
    this.dir = dir;
    this.#files = new FileThread(fileThreadFile);
    this.#trash = new Trash(dir.layout.trash, this.#files, warn);
    this.#owners = new OwnersOf(dir.layout.jobs);
    this.namespaces = new Namespaces(dir, this.#trash, this.#owners);
    this.saved = new SavedCheckouts(dir, this.#trash, this.#owners);
  }

  /** Throws `not-found` where there is no runner's directory: none is made here. */
  static async open(root: string, fileThreadFile: string, warn: (line: string) => void): Promise<CacheAdmin> {
    const layout = new DirLayout(root);
    if (!existsSync(layout.format)) {
      const why = existsSync(layout.root)
        ? "is no runner's directory: it has no format.json"
        : 'does not exist';
      throw new VoleError('not-found', `--dir ${layout.root} ${why}`);
    }
    return new CacheAdmin(await openDir(root), fileThreadFile, warn);
  }

  trimmer(limits: TrimLimits, log: RunnerLog): Trimmer {
    const { dir, namespaces, saved } = this;
    return new Trimmer({ dir, namespaces, saved, files: this.#files, trash: this.#trash, limits, log });
  }

  async list(): Promise<{ namespaces: ListedNamespace[]; checkouts: ListedCheckout[] }> {
    const { records } = this.namespaces;
    const breather = new Breather();
    const namespaces: ListedNamespace[] = [];
    for (const name of records.names()) {
      await breather.breathe();
      const inUse = this.namespaces.inUse(name);
      namespaces.push({ name, record: records.read(name), inUse, unwanted: records.isUnwanted(name) });
    }
    const checkouts: ListedCheckout[] = [];
    for (const name of this.saved.names()) {
      const sizeBytes = await this.#files.measure(this.saved.path(name));
      checkouts.push({ name, sizeBytes, lastUsed: this.saved.lastUsed(name), inUse: this.saved.inUse(name) });
    }
    return { namespaces, checkouts };
  }

  /** Removes what nobody uses, of one repository or of all. */
  async clear(repository: string | null): Promise<{ cache: Cleared; git: Cleared }> {
    const { records } = this.namespaces;
    const namespaces = records
      .names()
      .filter((name) => repository === null || records.read(name)?.repository === repository);
    // A saved checkout has no record: by the readable part of its name. At worst one is fetched anew.
    const prefix = repository && savedCheckoutName(repository, 'trusted', '').slice(0, -DIGEST_LENGTH);
    const checkouts = this.saved
      .names()
      .filter((name) => prefix === null || name.slice(0, -DIGEST_LENGTH) === prefix);
    return {
      cache: await each(namespaces, (name) => this.namespaces.removeIfFree(name)),
      git: await each(checkouts, (name) => this.saved.removeIfFree(name)),
    };
  }

  /** Deletes what was moved away before it ends. Idempotent. */
  async close(): Promise<void> {
    await this.#trash.settled();
    await this.#files.close();
  }
}

async function each(names: readonly string[], remove: (name: string) => Removed): Promise<Cleared> {
  const removed: string[] = [];
  const busy: string[] = [];
  const breather = new Breather();
  for (const name of names) {
    await breather.breathe();
    (remove(name) === 'removed' ? removed : busy).push(name);
  }
  return { removed, busy };
}
