import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a directory and the parents that are not there, each with this mode; gives whether it was made,
 * and leaves one that was there as it is. Throws the system's error. Not Node's recursive one: where a
 * file system has the parent and answers ENOENT all the same, as `/proc` does, that one never ends.
 */
export function makeFolder(folder: string, mode = 0o777): boolean {
  try {
    return makeOne(folder, mode);
  } catch (error) {
    const parent = path.dirname(path.resolve(folder));
    if (codeOf(error) !== 'ENOENT' || parent === path.resolve(folder)) throw error;
    makeFolder(parent, mode);
    // A second ENOENT is not for the parent, and final.
    return makeOne(folder, mode);
  }
}

function makeOne(folder: string, mode: number): boolean {
  try {
    mkdirSync(folder, { mode });
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || !isFolder(folder)) throw error;
    return false;
  }
}

function isFolder(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
