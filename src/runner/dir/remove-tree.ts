import { chmodSync, lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { oneLine } from '../../shared/errors.ts';

/** Most lines about what is left: one is shown, the rest are counted. */
const MOST_LEFT = 1000;

/**
 * Deletes a tree. Follows no link, whether at the top or below; makes directories writable that are
 * not (0555, as the Go module cache has them). What withstands stays, with the directories above it,
 * and is given as `path: why`.
 */
export function removeTree(root: string): string[] {
  const left: string[] = [];
  removeAt(root, left);
  return left;
}

function removeAt(file: string, left: string[]): void {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return;
  if (!stat.isDirectory()) {
    attempt(file, left, () => unlinkSync(file));
    return;
  }
  const before = left.length;
  for (const name of namesIn(file, stat.mode, left)) removeAt(`${file}/${name}`, left);
  if (left.length === before) attempt(file, left, () => rmdirSync(file));
}

function namesIn(folder: string, mode: number, left: string[]): string[] {
  // As root the mode does not matter; as its owner it can be changed; else unlinking says why not.
  if ((mode & 0o700) !== 0o700) attempt(folder, [], () => chmodSync(folder, 0o700));
  let names: string[] = [];
  attempt(folder, left, () => {
    names = readdirSync(folder);
  });
  return names;
}

function attempt(file: string, left: string[], work: () => void): void {
  try {
    work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    if (left.length < MOST_LEFT) left.push(`${file}: ${oneLine(error)}`);
  }
}
