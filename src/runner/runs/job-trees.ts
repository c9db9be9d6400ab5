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
const FILES = ['owner.jsonl', 'log'] as const;
const STEP_SCRIPT = /^step-\d+\.sh$/;
/** A log that was longer is not emptied here: to free its blocks may take long, and the main thread does not wait. */
const MOST_LOG_BYTES = 1024 * 1024;

/** A tree with its open files, while a job has it and between two jobs. */
interface Tree {
  /** Where it stands now. */
  path: string;
  readonly owner: OwnerFile;
  readonly spool: SpoolReader;
  /** Of its folders and files, what must not have changed since they were made. */
  readonly made: readonly (string | null)[];
  readonly inode: string;
  /** The same of the tree itself, since it waits. */
  waiting: string | null;
}

interface Spare {
  readonly namespace: string;
  readonly tree: Tree;
}

export interface HeldTree {
  readonly path: string;
  readonly owner: OwnerFile;
  readonly spool: SpoolReader;
  /** Moves it out of the way. `reusable`: no process of the job can still be at it. Idempotent. */
  dispose(how: { reusable: boolean }): void;
  /** Closes what is open of it and leaves it where it stands. Idempotent, and final as `dispose` is. */
  keep(): void;
}

/**
 * The trees of a process's jobs. One that a job has left as it was given it, but for what vole itself has
 * put there, is given to the next job of the same cache namespace: six inodes to make and to delete
 * for each are dear where the file system looks for some that were not deleted just now, as ext4 without a
 * journal does: two fifths of what the main thread did for short jobs. Any change of a folder, also of
 * one that was undone, shows in the time of its inode, which nobody can set.
 */
export class JobTrees {
  readonly #dir: RunnerDir;
  readonly #trash: Trash;
  readonly #folder: string;
  readonly #most: number;
  /** The one that was used last at the end. */
  readonly #spare: Spare[] = [];
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
    let ended = false;
    const dispose = ({ reusable }: { reusable: boolean }): void => {
      if (ended) return;
      ended = true;
      if (!reusable || !this.#spared(tree, namespace)) this.#discard(tree);
    };
    const keep = (): void => {
      if (ended) return;
      ended = true;
      closeFiles(tree);
    };
    return { path: tree.path, owner: tree.owner, spool: tree.spool, dispose, keep };
  }

  /** Idempotent. */
  close(): void {
    this.#closed = true;
    for (const { tree } of this.#spare.splice(0)) this.#discard(tree);
  }

  #fresh(identity: OwnerIdentity): Tree {
    const made = makeJobTree(this.#dir, this.#trash, identity);
    const { path: place, owner } = made;
    let spool: SpoolReader | null = null;
    try {
      spool = SpoolReader.make(path.join(place, 'log'));
      const tree = { path: place, owner, spool, inode: inodeOf(place), waiting: null };
      return { ...tree, made: partsOf(tree) };
    } catch (error) {
      spool?.close();
      made.dispose();
      throw error;
    }
  }

  #renewed(identity: OwnerIdentity): Tree | null {
    const at = this.#spare.findLastIndex(({ namespace }) => namespace === identity.namespace);
    const [spare] = at < 0 ? [] : this.#spare.splice(at, 1);
    if (!spare) return null;
    const { tree } = spare;
    try {
      if (stampOf(tree.path) !== tree.waiting || !isAsMade(tree)) throw new Error('it was changed');
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
  #spared(tree: Tree, namespace: string): boolean {
    if (this.#closed || tree.spool.size > MOST_LOG_BYTES) return false;
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
      tree.waiting = stampOf(place);
    } catch {
      return false;
    }
    this.#spare.push({ namespace, tree });
    const oldest = this.#spare.length > this.#most ? this.#spare.shift() : undefined;
    if (oldest) this.#discard(oldest.tree);
    return true;
  }

  #discard(tree: Tree): void {
    closeFiles(tree);
    this.#trash.tryPut(tree.path);
  }
}

function closeFiles({ spool, owner }: Tree): void {
  spool.close();
  owner.close();
}

/** The step scripts in a tree that is as it was made but for them; null where more is different. */
function scriptsIn(tree: Tree): string[] | null {
  const at = (name: string): string => path.join(tree.path, name);
  const names = readdirSync(tree.path);
  const scripts = names.filter((name) => STEP_SCRIPT.test(name));
  if (names.length - scripts.length !== FOLDERS.length + FILES.length) return null;
  if (inodeOf(tree.path) !== tree.inode || !isAsMade(tree)) return null;
  // The clock of inodes is a coarse one: what was made in the same tick of it shows here.
  if (FOLDERS.some((name) => readdirSync(at(name)).length > 0)) return null;
  return scripts.every((name) => lstatSync(at(name)).isFile()) ? scripts.map(at) : null;
}

function isAsMade(tree: Tree): boolean {
  const parts = partsOf(tree);
  return parts.every((part, index) => part !== null && part === tree.made[index]);
}

function partsOf({ path: tree, owner, spool }: Pick<Tree, 'path' | 'owner' | 'spool'>): (string | null)[] {
  const [ownerFile, logFile] = FILES.map((name) => path.join(tree, name)) as [string, string];
  const folders = FOLDERS.map((name) => stampOf(path.join(tree, name)));
  return [...folders, owner.standingAs(ownerFile), spool.standingAs(logFile)];
}

/** With when it was last changed. */
function stampOf(folder: string): string {
  const { ino, mode, uid, gid, ctimeNs } = lstatSync(folder, { bigint: true });
  return [ino, mode, uid, gid, ctimeNs].join(' ');
}

/** Of a folder whose entries come and go. */
function inodeOf(folder: string): string {
  const { ino, mode, uid, gid } = lstatSync(folder);
  return [ino, mode, uid, gid].join(' ');
}
