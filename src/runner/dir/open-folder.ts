import { chmodSync, closeSync, constants, fstatSync, openSync } from 'node:fs';

/** Linux's O_PATH, which Node does not name: opens what may not be read, so that its mode can be mended. */
const O_PATH = 0o10000000;

/** The descriptor of a directory and of nothing else: a link there fails with ELOOP or ENOTDIR. Throws. */
export function openFolder(folder: string | Buffer): number {
  return openSync(folder, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** Gives its owner all rights to an open directory. As root the mode does not matter. Throws. */
export function allowOwner(fd: number): void {
  if ((fstatSync(fd).mode & 0o700) !== 0o700) chmodSync(`/proc/self/fd/${fd}`, 0o700);
}

/** Whether there is a directory that is writable for its owner now. */
export function makeWritable(folder: string): boolean {
  try {
    const fd = openFolder(folder);
    try {
      allowOwner(fd);
      return true;
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
}
