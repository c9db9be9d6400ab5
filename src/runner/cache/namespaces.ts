import { existsSync, mkdirSync } from 'node:fs';
import { guardName, type NamespaceKey, namespaceName } from '../../shared/dir-layout.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import { NamespaceRecords } from './namespace-records.ts';
import type { OwnersOf } from './owners-of.ts';
import type { Removed } from './plan-trim.ts';

/** No record takes this long to be written. */
const TORN_MS = 3_600_000;

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
      mkdirSync(path, { recursive: true });
      this.records.used(name, key);
      let held = true;
      const release = ({ remove }: { remove: boolean }): void => {
        if (!held) return;
        held = false;
        try {
          // Before the guard is let go: whoever is the last to do so then finds the wish.
          if (remove) this.records.removeWhenFree(name);
          this.records.used(name, key);
        } finally {
          guard.release();
        }
        if (remove || this.records.isUnwanted(name)) this.removeIfFree(name);
      };
      return { name, path, release };
    } catch (error) {
      guard.release();
      throw error;
    }
  }

  /** Whether somebody holds it just now, or may. */
  inUse(name: string): boolean {
    const guard = this.#dir.guards.try(guardName.namespace(name), 'exclusive');
    if (!guard) return true;
    try {
      return this.#owners.ofNamespace(name);
    } finally {
      guard.release();
    }
  }

  /** Forgets records without a directory, each under its guard, and half-written ones. */
  tidyRecords(): number {
    let forgotten = 0;
    for (const name of this.records.strays()) {
      const guard = this.#dir.guards.try(guardName.namespace(name), 'exclusive');
      if (!guard) continue; // just being made
      if (!existsSync(this.#dir.layout.namespace(name))) {
        this.records.forget(name);
        forgotten += 1;
      }
      guard.release();
    }
    this.records.removeTorn(TORN_MS);
    return forgotten;
  }

  /**
   * Removes a namespace that nobody uses: `busy` where it is held, or where processes of a dead runner's
   * job may still use it; `kept` where `check`, asked under the guard, says so and no job wants it gone;
   * `withstood` where it may not be moved, which the trash has said.
   */
  removeIfFree(name: string, check: () => boolean = () => true): Removed {
    const guard = this.#dir.guards.try(guardName.namespace(name), 'exclusive');
    if (!guard) return 'busy';
    try {
      if (!this.records.isUnwanted(name) && !check()) return 'kept';
      if (this.#owners.ofNamespace(name)) return 'busy';
      if (this.#trash.tryPut(this.#dir.layout.namespace(name)) === 'withstood') return 'withstood';
      this.records.forget(name);
      return 'removed';
    } finally {
      guard.release();
    }
  }
}
