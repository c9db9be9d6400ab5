import { chmodSync, lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { oneLine } from '../../shared/errors.ts';

/** Most lines about what is left: one is shown, the rest are counted. */
const MOST_LEFT = 1000;

/**
 * Directories below one another that are walked in place. A deeper one is first moved up beside the top:
 * so neither the stack nor the longest path that the kernel takes bounds what can be deleted.
 */
const MOST_DEPTH = 100;

/**
 * Deletes a tree. Follows no link, whether at the top or below; makes directories writable that are
 * not (0555, as the Go module cache has them). What withstands stays, with the directories above it,
 * and is given as `path: why`. Never throws.
 */
export function removeTree(root: string): string[] {
  const removal: Removal = { root, pending: [root], moved: 0, left: [] };
  for (let top = removal.pending.pop(); top !== undefined; top = removal.pending.pop()) {
    removeAt(top, 0, removal);
  }
  return removal.left;
}

interface Removal {
  readonly root: string;
  /** Tops still to be walked: the root, and what was moved up beside it. */
  readonly pending: string[];
  moved: number;
  readonly left: string[];
}

function removeAt(file: string, depth: number, removal: Removal): void {
  const { left } = removal;
  const before = left.length;
  const stat = attempt(file, left, () => lstatSync(file, { throwIfNoEntry: false }));
  if (!stat) return;
  if (!stat.isDirectory()) {
    attempt(file, left, () => unlinkSync(file));
    return;
  }
  if (depth >= MOST_DEPTH) {
    const up = `${removal.root}.deep-${process.pid}-${removal.moved++}`;
    attempt(file, left, () => {
      renameSync(file, up);
      removal.pending.push(up);
    });
    return;
  }
  for (const name of namesIn(file, stat.mode, left)) removeAt(`${file}/${name}`, depth + 1, removal);
  if (left.length === before) attempt(file, left, () => rmdirSync(file));
}

function namesIn(folder: string, mode: number, left: string[]): string[] {
  // As root the mode does not matter; as its owner it can be changed; else unlinking says why not.
  if ((mode & 0o700) !== 0o700) attempt(folder, [], () => chmodSync(folder, 0o700));
  return attempt(folder, left, () => readdirSync(folder)) ?? [];
}

function attempt<T>(file: string, left: string[], work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (left.length < MOST_LEFT) left.push(`${file}: ${oneLine(error)}`);
    return undefined;
  }
}
