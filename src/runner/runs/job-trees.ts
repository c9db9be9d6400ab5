import { lstatSync, mkdirSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import type { OwnerFile } from '../../shared/owner-file.ts';
import type { OwnerIdentity } from '../../shared/owner-record.ts';
import { makeJobTree, moveJobTree } from '../dir/job-tree.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import { SpoolReader } from './spool-reader.ts';

/** Folders of a job, in its tree. */
const FOLDERS = ['src', 'tmp'] as const;
const STEP_SCRIPT = /^step-\d+\.sh$/;

/** A tree with its open files, while a job has it and between two jobs. */
interface Tree {
  /** Where it stands now. */
  path: string;
  readonly owner: OwnerFile;
  readonly spool: SpoolReader;
  /** Its folders' inodes and when these were last changed, as they were made. */
  readonly folders: readonly string[];
  readonly inode: string;
}

export interface HeldTree {
  readonly path: string;
  readonly owner: OwnerFile;
  readonly spool: SpoolReader;
  /** Moves it out of the way. `reusable`: no process of the job can still be at it. Idempotent. */
  dispose(how: { reusable: boolean }): void;
}

/**
 * The trees of a process's jobs. One that a job has left as it was given it, but for what vole itself has
 * put there, is given to the next job of the same cache namespace: to make and to delete six inodes costs more
 * than all else that the main thread does for a short job, and ten times that where the file system looks for
 * some that were not deleted just now (ext4 without a journal). Any change of a folder, also of
 * one that was undone, shows in the time of its inode, which nobody can set.
 */
export class JobTrees {
  readonly #dir: RunnerDir;
  readonly #trash: Trash;
  readonly #folder: string;
  readonly #most: number;
  /** By namespace; the one that was used last at the end. */
  readonly #spare = new Map<string, Tree[]>();
  #spares = 0;
  #named = 0;
  #closed = false;

  /** `folder`: of this process alone, which a sweep removes after its death. `most`: trees that may wait. */
  constructor(dir: RunnerDir, trash: Trash, folder: string, most: number) {
    this.#dir = dir;
    this.#trash = trash;
    this.#folder = folder;
    this.#most = most;
  }

  /** Throws where it cannot be made. */
  make(identity: OwnerIdentity): HeldTree {
    const { namespace } = identity;
    const tree = this.#renewed(identity) ?? this.#fresh(identity);
    let disposed = false;
    const dispose = ({ reusable }: { reusable: boolean }): void => {
      if (disposed) return;
      disposed = true;
      if (!reusable || !this.#keep(tree, namespace)) this.#discard(tree);
    };
    return { path: tree.path, owner: tree.owner, spool: tree.spool, dispose };
  }

  /** Idempotent. */
  close(): void {
    this.#closed = true;
    for (const trees of this.#spare.values()) for (const tree of trees) this.#discard(tree);
    this.#spare.clear();
  }

  #fresh(identity: OwnerIdentity): Tree {
    const made = makeJobTree(this.#dir, this.#trash, identity);
    try {
      const spool = SpoolReader.make(path.join(made.path, 'log'));
      const folders = FOLDERS.map((name) => stampOf(path.join(made.path, name)));
      return { path: made.path, owner: made.owner, spool, folders, inode: inodeOf(made.path) };
    } catch (error) {
      made.dispose();
      throw error;
    }
  }

  #renewed(identity: OwnerIdentity): Tree | null {
    const tree = this.#spare.get(identity.namespace)?.pop();
    if (!tree) return null;
    this.#spares -= 1;
    try {
      const target = this.#dir.layout.jobTree(identity.run, identity.attempt, identity.server);
      tree.owner.renew(identity);
      moveJobTree(target, tree.path, this.#trash);
      tree.path = target;
      return tree;
    } catch {
      this.#discard(tree); // somebody has removed it, or the disk is full: a new one says what is wrong
      return null;
    }
  }

  /** False where it cannot be used again. */
  #keep(tree: Tree, namespace: string): boolean {
    if (this.#closed || this.#spares >= this.#most) return false;
    try {
      const scripts = scriptsIn(tree);
      if (!scripts) return false;
      for (const script of scripts) unlinkSync(script);
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const place = path.join(this.#folder, `tree-${this.#named++}`);
      renameSync(tree.path, place);
      tree.path = place;
      tree.owner.clear();
      tree.spool.clear();
    } catch {
      return false;
    }
    const spare = this.#spare.get(namespace);
    if (spare) spare.push(tree);
    else this.#spare.set(namespace, [tree]);
    this.#spares += 1;
    return true;
  }

  #discard(tree: Tree): void {
    tree.spool.close();
    tree.owner.close();
    this.#trash.put(tree.path);
  }
}

/** The step scripts in a tree that is as it was made but for them; null where more is different. */
function scriptsIn(tree: Tree): string[] | null {
  const at = (name: string): string => path.join(tree.path, name);
  const names = readdirSync(tree.path);
  const scripts = names.filter((name) => STEP_SCRIPT.test(name));
  if (names.length - scripts.length !== FOLDERS.length + 2 || inodeOf(tree.path) !== tree.inode) return null;
  for (const [index, name] of FOLDERS.entries()) if (stampOf(at(name)) !== tree.folders[index]) return null;
  // The clock of inodes is a coarse one: what was made in the same tick of it shows here.
  if (FOLDERS.some((name) => readdirSync(at(name)).length > 0)) return null;
  if (!tree.owner.isAlone(at('owner.jsonl')) || !tree.spool.isAlone(at('log'))) return null;
  return scripts.every((name) => lstatSync(at(name)).isFile()) ? scripts.map(at) : null;
}

function stampOf(folder: string): string {
  const { ino, mode, uid, gid, ctimeNs } = lstatSync(folder, { bigint: true });
  return [ino, mode, uid, gid, ctimeNs].join(' ');
}

/** Of a folder whose entries come and go. */
function inodeOf(folder: string): string {
  const { ino, mode, uid, gid } = lstatSync(folder);
  return [ino, mode, uid, gid].join(' ');
}
