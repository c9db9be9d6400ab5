import { closeSync, constants, lstatSync, openSync, type Stats } from 'node:fs';
import { type BytePath, bytePath, eachEntry, entriesOf, isText, realPath } from './each-entry.ts';

const BLOCK_BYTES = 512;
/** Far under the kernel's 4,096 bytes for a path, since each look walks all of it: below that, the walk starts anew from a descriptor. */
const LONG_PATH = 500;
/** Entries that are looked at together, or given away together. */
const BATCH = 512;
/** A directory of no more than this, by its own size, holds some thousands of entries. */
const SMALL_BYTES = 65_536;
/** Entries looked at before some are given away: handing over costs as much as looking at hundreds. */
const WORTH_SHARING = 1_000;
const GONE = { throwIfNoEntry: false } as const;

/** Something to measure: a directory, or some entries of one. */
export interface Part {
  readonly folder: BytePath;
  readonly isSmall: boolean;
  /** Null: all of it. */
  readonly names: readonly BytePath[] | null;
}

/** Lets another thread take part in a measurement. */
export interface Sharing {
  /** Asked often; whether another thread has nothing to do. */
  isWanted(): boolean;
  give(parts: readonly Part[]): void;
  /** So many entries were looked at. */
  looked(entries: number): void;
}

export interface Measured {
  readonly bytes: number;
  /**
   * Device, inode and bytes of each file with several links, one after the other, where other parts may
   * have counted the same; null where this is all of the tree.
   */
  readonly linked: Float64Array | null;
}

/**
 * Bytes on disk below a path, as `du -s` counts them: blocks of 512 bytes whatever the file system's
 * own block is, a file with several links once, links themselves and not what they name. What
 * vanishes or may not be read while it is measured counts as nothing. Any depth, and any number of files
 * in a directory: only directories are remembered.
 */
export function measureTree(root: string): number {
  return measureShared(root, null).bytes;
}

/** The same, of which some may be given away. */
export function measureShared(root: string, sharing: Sharing | null): Measured {
  const top = bytePath(root);
  const stat = look(root);
  if (!stat) return { bytes: 0, linked: null };
  const own = stat.blocks * BLOCK_BYTES;
  if (!stat.isDirectory()) return { bytes: own, linked: null };
  const below = new Measuring(sharing).run([{ folder: top, isSmall: isSmall(stat), names: null }]);
  return { ...below, bytes: own + below.bytes };
}

/** What another thread gave away; without the directories themselves, which it has counted. */
export function measureParts(parts: readonly Part[], sharing: Sharing): Measured {
  return new Measuring(sharing, true).run(parts);
}

/** Of all parts of one measurement: what several have counted counts once. */
export function sumOf(parts: readonly Measured[]): number {
  const seen = new Set<string>();
  let bytes = 0;
  for (const part of parts) {
    bytes += part.bytes;
    for (let at = 0; part.linked && at < part.linked.length; at += 3) {
      const inode = `${part.linked[at]} ${part.linked[at + 1]}`;
      if (seen.has(inode)) bytes -= part.linked[at + 2] ?? 0;
      seen.add(inode);
    }
  }
  return bytes;
}

/** A directory from which paths are named; closed with the last of them. */
interface Base {
  readonly path: BytePath;
  readonly fd: number | null;
  users: number;
}

interface Pending extends Part {
  readonly base: Base;
}

class Measuring {
  readonly #sharing: Sharing | null;
  readonly #pending: Pending[] = [];
  /** Blocks of files with several links, by device and inode. */
  readonly #linked = new Map<number, Map<number, number>>();
  #blocks = 0;
  #isPart: boolean;
  #sinceGiven = 0;

  constructor(sharing: Sharing | null, isPart = false) {
    this.#sharing = sharing;
    this.#isPart = isPart;
  }

  run(parts: readonly Part[]): Measured {
    const base = { path: '', fd: null, users: 0 };
    for (const part of parts) this.#push(base, part);
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.#measure(next);
      this.#giveSome();
    }
    return { bytes: this.#blocks * BLOCK_BYTES, linked: this.#isPart ? this.#links() : null };
  }

  #measure({ base, folder, isSmall, names }: Pending): void {
    const from = folder.length > LONG_PATH ? baseAt(folder) : base;
    from.users += 1;
    const at = from === base ? folder : from.path;
    if (names) this.#batch(from, at, names);
    else this.#folder(from, at, isSmall);
    done(from);
    done(base);
  }

  #folder(base: Base, folder: BytePath, isSmall: boolean): void {
    let names: BytePath[] = [];
    try {
      if (isSmall) return this.#batch(base, folder, entriesOf(folder));
      eachEntry(folder, (name) => {
        names.push(name);
        if (names.length < BATCH) return;
        this.#batch(base, folder, names);
        names = [];
      });
    } catch {
      // unreadable, or gone meanwhile
    }
    this.#batch(base, folder, names);
  }

  /** Looks at entries of one directory; those that are directories are looked into later. */
  #batch(base: Base, folder: BytePath, names: readonly BytePath[]): void {
    if (names.length === BATCH && base.fd === null && this.#mayGive())
      return this.#give([{ folder, isSmall: false, names }]);
    const isPlain = isText(folder);
    for (const name of names) {
      const file = `${folder}/${name}`;
      const stat = look(isPlain && isText(name) ? file : Buffer.from(file, 'latin1'));
      if (!stat) continue;
      const isFolder = stat.isDirectory();
      if (isFolder) this.#push(base, { folder: file, isSmall: isSmall(stat), names: null });
      else if (stat.nlink > 1 && this.#isCounted(stat)) continue;
      this.#blocks += stat.blocks;
    }
    this.#sinceGiven += names.length;
    this.#sharing?.looked(names.length);
  }

  #push(base: Base, part: Part): void {
    base.users += 1;
    this.#pending.push({ base, ...part });
  }

  #mayGive(): boolean {
    return this.#sinceGiven >= WORTH_SHARING && (this.#sharing?.isWanted() ?? false);
  }

  /** The older half of what is to be done, which is nearer to the top; not what a descriptor here names. */
  #giveSome(): void {
    if (this.#pending.length < 2 || !this.#mayGive()) return;
    const half = this.#pending.splice(0, this.#pending.length >> 1);
    const [mine, given] = [
      half.filter(({ base }) => base.fd !== null),
      half.filter(({ base }) => base.fd === null),
    ];
    this.#pending.unshift(...mine);
    if (given.length === 0) return;
    this.#give(given.map(({ folder, isSmall, names }) => ({ folder, isSmall, names })));
    for (const { base } of given) done(base);
  }

  #give(parts: readonly Part[]): void {
    this.#isPart = true;
    this.#sinceGiven = 0;
    this.#sharing?.give(parts);
  }

  #isCounted(stat: Stats): boolean {
    const inodes = this.#linked.get(stat.dev) ?? new Map<number, number>();
    this.#linked.set(stat.dev, inodes);
    if (inodes.has(stat.ino)) return true;
    inodes.set(stat.ino, stat.blocks);
    return false;
  }

  #links(): Float64Array {
    const flat: number[] = [];
    for (const [device, inodes] of this.#linked) {
      for (const [inode, blocks] of inodes) flat.push(device, inode, blocks * BLOCK_BYTES);
    }
    return Float64Array.from(flat);
  }
}

function done(base: Base): void {
  base.users -= 1;
  if (base.users === 0 && base.fd !== null) closeSync(base.fd);
}

function baseAt(folder: BytePath): Base {
  try {
    const fd = openSync(realPath(folder), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return { path: `/proc/self/fd/${fd}`, fd, users: 0 };
  } catch {
    return { path: folder, fd: null, users: 0 };
  }
}

function isSmall(folder: Stats): boolean {
  return folder.size > 0 && folder.size <= SMALL_BYTES;
}

function look(file: string | Buffer): Stats | undefined {
  try {
    return lstatSync(file, GONE);
  } catch {
    return undefined; // unreadable above it
  }
}
