import { randomBytes } from 'node:crypto';
import { closeSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { oneLine } from '../../shared/errors.ts';
import { type BytePath, bytePath, eachEntry, realPath, shownPath } from './each-entry.ts';
import { allowOwner, openFolder } from './open-folder.ts';

/** Most lines about what is left: one is shown, the rest are counted. */
const MOST_LEFT = 1000;
/** Levels that are walked at once, each with a descriptor; what lies deeper is moved up first. */
const MOST_DEEP = 64;

/** Entries between two reports of how far it is. */
const REPORT_EVERY = 256;

/**
 * Deletes a tree. Follows no link, at the top or below, also where one takes a directory's place
 * meanwhile: each directory is opened as one and walked through its descriptor. Makes directories
 * writable that are not (0555, as the Go module cache has them), and is bounded neither by the length of
 * a path nor by the depth of the tree. What withstands stays, with the directories above it, and is
 * given as `path: why`. `removed` hears now and then how many entries are gone since it was last called.
 */
export function removeTree(root: string, removed: (entries: number) => void = () => {}): string[] {
  return new Removal(bytePath(root), removed).run();
}

class Removal {
  readonly #root: BytePath;
  readonly #left: string[] = [];
  readonly #removed: (entries: number) => void;
  #sinceReport = 0;
  /** Directories that were moved up to the root, and are walked after it. */
  #hoisted = false;
  #rootFd = -1;

  constructor(root: BytePath, removed: (entries: number) => void) {
    this.#root = root;
    this.#removed = removed;
  }

  run(): string[] {
    const fd = this.#enter(this.#root, this.#root);
    if (fd === null) return this.#left;
    this.#rootFd = fd;
    try {
      do {
        this.#hoisted = false;
        this.#empty(fd, this.#root, 0);
      } while (this.#hoisted);
    } finally {
      closeSync(fd);
    }
    if (this.#left.length === 0) this.#do(rmdirSync, this.#root, this.#root);
    this.#removed(this.#sinceReport);
    return this.#left;
  }

  /**
   * `shown` is the path for people, which may be too long to be used. A file system may pass over some
   * entries while others are removed, so a large directory is read again until there is nothing more to remove.
   */
  #empty(fd: number, shown: BytePath, depth: number): void {
    const here = `/proc/self/fd/${fd}`;
    for (let again = true; again; ) {
      let removed = false;
      again = false;
      const before = this.#left.length;
      try {
        const atOnce = eachEntry(here, (name, isFolder) => {
          const [at, below] = [`${here}/${name}`, `${shown}/${name}`];
          const gone = isFolder ? this.#folder(at, below, depth + 1) : this.#do(unlinkSync, at, below);
          removed ||= gone;
        });
        again = removed && !atOnce;
      } catch (error) {
        this.#withstood(shown, error);
      }
      if (this.#left.length > before) return; // it is not going to be empty
    }
  }

  #folder(at: BytePath, shown: BytePath, depth: number): boolean {
    if (depth === 1 && this.#wasEmpty(at)) return true;
    const before = this.#left.length;
    const fd = this.#enter(at, shown);
    if (fd === null) return this.#left.length === before;
    try {
      if (depth >= MOST_DEEP && this.#hoist(at)) return true;
      this.#empty(fd, shown, depth);
    } finally {
      closeSync(fd);
    }
    return this.#left.length === before && this.#do(rmdirSync, at, shown);
  }

  /** A job's `src` and `tmp` often are: then they need not be opened to be looked at. */
  #wasEmpty(at: BytePath): boolean {
    try {
      rmdirSync(realPath(at));
    } catch {
      return false;
    }
    this.#count();
    return true;
  }

  #hoist(at: BytePath): boolean {
    try {
      renameSync(realPath(at), `/proc/self/fd/${this.#rootFd}/deep-${randomBytes(8).toString('hex')}`);
      this.#hoisted = true;
      return true;
    } catch {
      return false; // something in it withstands: that is said where it does
    }
  }

  /** The descriptor of a directory, made writable for its owner; a file or link there is unlinked: null. */
  #enter(at: BytePath, shown: BytePath): number | null {
    let fd: number;
    try {
      fd = openFolder(realPath(at));
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOTDIR' || code === 'ELOOP') this.#do(unlinkSync, at, shown);
      else if (code !== 'ENOENT') this.#withstood(shown, error);
      return null;
    }
    try {
      allowOwner(fd);
    } catch {
      // As root the mode does not matter; as its owner it can be changed; else unlinking says why not.
    }
    return fd;
  }

  /** Whether it is gone, by this or by somebody else. */
  #do(remove: (path: string | Buffer) => void, at: BytePath, shown: BytePath): boolean {
    try {
      remove(realPath(at));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.#withstood(shown, error);
        return false;
      }
    }
    this.#count();
    return true;
  }

  #count(): void {
    this.#sinceReport += 1;
    if (this.#sinceReport < REPORT_EVERY) return;
    this.#removed(this.#sinceReport);
    this.#sinceReport = 0;
  }

  #withstood(shown: BytePath, error: unknown): void {
    if (this.#left.length < MOST_LEFT) this.#left.push(`${shortened(shownPath(shown))}: ${reasonOf(error)}`);
  }
}

/** Without the path that the system was given, which is of a descriptor and another each time. */
function reasonOf(error: unknown): string {
  return oneLine(error).replace(/, [a-z]+ '.*$/, '');
}

function shortened(file: string): string {
  return file.length > 300 ? `${file.slice(0, 150)}…${file.slice(-100)}` : file;
}
