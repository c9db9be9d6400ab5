import { randomBytes } from 'node:crypto';
import { closeSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { oneLine } from '../../shared/errors.ts';
import { eachEntry } from './each-entry.ts';
import { allowOwner, openFolder } from './open-folder.ts';

/** Most lines about what is left: one is shown, the rest are counted. */
const MOST_LEFT = 1000;
/** Levels that are walked at once, each with a descriptor; what lies deeper is moved up first. */
const MOST_DEEP = 64;

/**
 * Deletes a tree. Follows no link, at the top or below, also where one takes a directory's place
 * meanwhile: each directory is opened as one and walked through its descriptor. Makes directories
 * writable that are not (0555, as the Go module cache has them), and is bounded neither by the length of
 * a path nor by the depth of the tree. What withstands stays, with the directories above it, and is
 * given as `path: why`.
 */
export function removeTree(root: string): string[] {
  const left: string[] = [];
  new Removal(root, left).run();
  return left;
}

class Removal {
  readonly #root: string;
  readonly #left: string[];
  /** Directories that were moved up to the root, and are walked after it. */
  #hoisted = false;
  #rootFd = -1;

  constructor(root: string, left: string[]) {
    this.#root = root;
    this.#left = left;
  }

  run(): void {
    const fd = enter(this.#root, this.#root, this.#left);
    if (fd === null) return;
    this.#rootFd = fd;
    try {
      do {
        this.#hoisted = false;
        this.#empty(fd, this.#root, 0);
      } while (this.#hoisted);
    } finally {
      closeSync(fd);
    }
    if (this.#left.length === 0) attempt(this.#root, this.#left, () => rmdirSync(this.#root));
  }

  /**
   * `shown` is the path for people, which may be too long to be used. A file system may pass over some
   * entries while others are removed, so it is read again until there is nothing more to remove.
   */
  #empty(fd: number, shown: string, depth: number): void {
    for (let removed = true; removed; ) {
      removed = false;
      const before = this.#left.length;
      const remove = (name: Buffer, isFolder: boolean): void => {
        const at = Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
        const below = `${shown}/${name.toString('utf8')}`;
        const gone = isFolder
          ? this.#removeFolder(at, below, depth + 1)
          : attempt(below, this.#left, () => unlinkSync(at));
        removed ||= gone;
      };
      attempt(shown, this.#left, () => eachEntry(`/proc/self/fd/${fd}`, remove));
      if (this.#left.length > before) return; // it is not going to be empty
    }
  }

  #removeFolder(at: Buffer, shown: string, depth: number): boolean {
    const before = this.#left.length;
    const fd = enter(at, shown, this.#left);
    if (fd === null) return this.#left.length === before;
    try {
      if (depth >= MOST_DEEP && this.#hoist(at)) return true;
      this.#empty(fd, shown, depth);
    } finally {
      closeSync(fd);
    }
    return this.#left.length === before && attempt(shown, this.#left, () => rmdirSync(at));
  }

  #hoist(at: Buffer): boolean {
    try {
      renameSync(at, `/proc/self/fd/${this.#rootFd}/deep-${randomBytes(8).toString('hex')}`);
      this.#hoisted = true;
      return true;
    } catch {
      return false; // something in it withstands: that is said where it does
    }
  }
}

/** The descriptor of a directory, made writable for its owner; a file or link there is unlinked: null. */
function enter(at: string | Buffer, shown: string, left: string[]): number | null {
  let fd: number;
  try {
    fd = openFolder(at);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTDIR' || code === 'ELOOP') attempt(shown, left, () => unlinkSync(at));
    else if (code !== 'ENOENT') say(shown, error, left);
    return null;
  }
  // As root the mode does not matter; as its owner it can be changed; else unlinking says why not.
  attempt(shown, [], () => allowOwner(fd));
  return fd;
}

/** Whether it is done, by this or by somebody else. */
function attempt(file: string, left: string[], work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    say(file, error, left);
    return false;
  }
}

function say(file: string, error: unknown, left: string[]): void {
  if (left.length < MOST_LEFT) left.push(`${shortened(file)}: ${reasonOf(error)}`);
}

/** Without the path that the system was given, which is of a descriptor and another each time. */
function reasonOf(error: unknown): string {
  return oneLine(error).replace(/, [a-z]+ '.*$/, '');
}

function shortened(file: string): string {
  return file.length > 300 ? `${file.slice(0, 150)}…${file.slice(-100)}` : file;
}
