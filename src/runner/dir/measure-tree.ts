import { closeSync, constants, lstatSync, openSync, type Stats } from 'node:fs';
import { eachEntry, SLASH } from './each-entry.ts';

const BLOCK_BYTES = 512;
/** Far under the kernel's 4,096 bytes for a path, since each look walks all of it: below that, the walk starts anew from a descriptor. */
const LONG_PATH = 500;

/** A directory from which paths are named; closed with the last of them. */
interface Base {
  readonly path: Buffer;
  readonly fd: number | null;
  users: number;
}

/**
 * Bytes on disk below a path, as `du -s` counts them: blocks of 512 bytes whatever the file system's
 * own block is, a file with several links once, links themselves and not what they name. What
 * vanishes or may not be read while it is measured counts as nothing. Any depth, and any number of files
 * in a directory: only directories are remembered.
 */
export function measureTree(root: string): number {
  const stat = look(root);
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.blocks * BLOCK_BYTES;
  return (stat.blocks + new Measuring().below(root)) * BLOCK_BYTES;
}

class Measuring {
  /** Inodes of files with several links, by device. */
  readonly #seen = new Map<number, Set<number>>();
  readonly #pending: { base: Base; folder: Buffer }[] = [];

  below(root: string): number {
    let blocks = 0;
    this.#push({ path: Buffer.alloc(0), fd: null, users: 0 }, Buffer.from(root));
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const { base, folder } = next;
      const from = folder.length > LONG_PATH ? baseAt(folder) : base;
      from.users += 1;
      blocks += this.#in(from, from === base ? folder : from.path);
      done(from);
      done(base);
    }
    return blocks;
  }

  /** Of the entries of one directory; those that are directories are looked into later. */
  #in(base: Base, folder: Buffer): number {
    let blocks = 0;
    try {
      eachEntry(folder, (name) => {
        const file = Buffer.concat([folder, SLASH, name]);
        const stat = look(file);
        if (!stat || this.#isSeen(stat)) return;
        blocks += stat.blocks;
        if (stat.isDirectory()) this.#push(base, file);
      });
    } catch {
      // unreadable, or gone meanwhile
    }
    return blocks;
  }

  #push(base: Base, folder: Buffer): void {
    base.users += 1;
    this.#pending.push({ base, folder });
  }

  #isSeen(stat: Stats): boolean {
    if (stat.nlink <= 1 || stat.isDirectory()) return false;
    const inodes = this.#seen.get(stat.dev) ?? new Set();
    this.#seen.set(stat.dev, inodes);
    if (inodes.has(stat.ino)) return true;
    inodes.add(stat.ino);
    return false;
  }
}

function done(base: Base): void {
  base.users -= 1;
  if (base.users === 0 && base.fd !== null) closeSync(base.fd);
}

function baseAt(folder: Buffer): Base {
  try {
    const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return { path: Buffer.from(`/proc/self/fd/${fd}`), fd, users: 0 };
  } catch {
    return { path: folder, fd: null, users: 0 };
  }
}

function look(file: string | Buffer): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined; // unreadable above it
  }
}
