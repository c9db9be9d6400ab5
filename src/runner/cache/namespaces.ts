import { existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { guardName, type NamespaceKey, namespaceName } from '../../shared/dir-layout.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import { NamespaceRecords } from './namespace-records.ts';
import type { OwnersOf } from './owners-of.ts';

/** A namespace that a job may use: nobody removes it until it is released. */
export interface HeldNamespace {
  readonly name: string;
  readonly path: string;
  /** `remove`: for `--no-cache`, the namespace goes with the last who can have it alone. Idempotent. */
  release(options: { remove: boolean }): void;
}

/**
 * The cache namespaces of a directory. A job holds the guard shared from before the directory is made;
 * whoever removes one holds it exclusively and has read the owner records that name it.
 */
export class Namespaces {
  readonly #dir: RunnerDir;
  readonly #trash: Trash;
  readonly #owners: OwnersOf;
  readonly records: NamespaceRecords;

  constructor(dir: RunnerDir, trash: Trash, owners: OwnersOf) {
    this.#dir = dir;
    this.#trash = trash;
    this.#owners = owners;
    this.records = new NamespaceRecords(dir.layout.cache);
  }

  /** Waits for who is just removing it. Grant first, then the directory. */
  async hold(key: NamespaceKey, signal: AbortSignal): Promise<HeldNamespace> {
    const name = namespaceName(key);
    const guard = await this.#dir.guards.shared(guardName.namespace(name), { signal });
    try {
      const path = this.#dir.layout.namespace(name);
      makeFolder(path);
      this.records.used(name, key);
      let held = true;
      const release = ({ remove }: { remove: boolean }): void => {
        if (!held) return;
        held = false;
        this.records.used(name, key);
        // Before the release: whoever is granted it alone from then on, and so may refuse us, sees it.
        if (remove) this.records.unwanted(name);
        guard.release();
        if (this.records.isUnwanted(name)) this.removeIfFree(name);
      };
      return { name, path, release };
    } catch (error) {
      guard.release();
      throw error;
    }
  }

  /** Forgets records without a directory, each under its guard, and half-written ones. */
  tidyRecords(): void {
    for (const name of this.records.strays()) {
      const guard = this.#dir.guards.try(guardName.namespace(name), 'exclusive');
      if (!guard) continue; // just being made
      if (!existsSync(this.#dir.layout.namespace(name))) this.records.forget(name);
      guard.release();
    }
    this.records.removeTorn();
  }

  /** Whether somebody holds it just now. */
  inUse(name: string): boolean {
    const guard = this.#dir.guards.try(guardName.namespace(name), 'exclusive');
    guard?.release();
    return guard === null;
  }

  /**
   * Removes a namespace that nobody uses: `busy` where it is held, or where processes of a dead runner's
   * job may still use it, or where it cannot be moved. `check` looks again under the guard; one that is
   * unwanted goes whatever it says, since its last user may just have been refused because of us.
   */
  removeIfFree(name: string, check: () => boolean = () => true): 'removed' | 'busy' | 'kept' {
    const guard = this.#dir.guards.try(guardName.namespace(name), 'exclusive');
    if (!guard) return 'busy';
    try {
      if (!this.records.isUnwanted(name) && !check()) return 'kept';
      if (this.#owners.ofNamespace(name)) return 'busy';
      // One that withstands must not keep a trimmer from the others; the trash says which.
      if (this.#trash.tryPut(this.#dir.layout.namespace(name)) === 'withstood') return 'busy';
      this.records.forget(name);
      return 'removed';
    } finally {
      guard.release();
    }
  }
}

/** A job may have put a link or a file in the place of its namespace: unlinked, never followed. */
function makeFolder(folder: string): void {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return;
  if (stat) rmSync(folder, { force: true });
  mkdirSync(folder, { recursive: true });
}
