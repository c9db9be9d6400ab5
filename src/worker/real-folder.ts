import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, renameSync } from 'node:fs';
import type { JobPaths } from '../shared/worker-messages.ts';

/** Whether it is a directory and no link to one. */
export function isRealFolder(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Null while the workspace is the folder that was made for the run. A step may have put a link in its
 * place or its tree's, and nothing is run in or packed from what that leads to.
 */
export function workspaceFault(paths: Pick<JobPaths, 'tree' | 'src'>): string | null {
  if (isRealFolder(paths.tree) && isRealFolder(paths.src)) return null;
  return 'a step has removed the workspace or put something else in its place';
}

/** Makes a folder; what a step has put in its place is moved out of the way. */
export function makeAfresh(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    renameSync(folder, `${folder}-${randomBytes(6).toString('hex')}`);
    mkdirSync(folder);
  }
}
