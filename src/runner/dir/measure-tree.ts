import { closeSync, constants, lstatSync, openSync, readdirSync, type Stats } from 'node:fs';

const BLOCK_BYTES = 512;
/** Far under the kernel's 4,096 bytes for a path: below that, the walk starts anew from a descriptor. */
const LONG_PATH = 2_000;

/** A directory from which paths are named; closed with the last of them. */
interface Base {
  readonly path: string;
  readonly fd: number | null;
  users: number;
}

/**
 * Bytes on disk below a path, as `du -s` counts them: blocks of 512 bytes whatever the file system's
 * own block is, a file with several links once, links themselves and not what they name. What
 * vanishes or may not be read while it is measured counts as nothing. Any depth.
 */
export function measureTree(root: string): number {
  const seen = new Set<string>();
  let blocks = 0;
  const pending: { base: Base; file: string }[] = [];
  const push = (base: Base, file: string): void => {
    base.users += 1;
    pending.push({ base, file });
  };
  const done = (base: Base): void => {
    base.users -= 1;
    if (base.users === 0 && base.fd !== null) closeSync(base.fd);
  };
  push({ path: '', fd: null, users: 0 }, root);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { base, file } = next;
    const stat = look(file);
    if (stat && !isSeen(stat, seen)) {
      blocks += stat.blocks;
      if (stat.isDirectory()) {
        const from = file.length > LONG_PATH ? baseAt(file) : base;
        const folder = from === base ? file : from.path;
        for (const name of namesIn(folder)) push(from, `${folder}/${name}`);
        if (from !== base && from.users === 0 && from.fd !== null) closeSync(from.fd);
      }
    }
    done(base);
  }
  return blocks * BLOCK_BYTES;
}

function baseAt(folder: string): Base {
  try {
    const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return { path: `/proc/self/fd/${fd}`, fd, users: 0 };
  } catch {
    return { path: folder, fd: null, users: 0 };
  }
}

function isSeen(stat: Stats, seen: Set<string>): boolean {
  if (stat.nlink <= 1 || stat.isDirectory()) return false;
  const inode = `${stat.dev}:${stat.ino}`;
  if (seen.has(inode)) return true;
  seen.add(inode);
  return false;
}

function look(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined; // unreadable above it
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // unreadable or gone
  }
}
