import { closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs';

/**
 * Opens a file that a job could have put something else in place of, and gives its descriptor. Follows
 * no link at its end and does not wait for the other end of a FIFO. Throws as `openSync` does, and
 * where it is no regular file.
 */
export function openRegular(file: string, flags: number = constants.O_RDONLY, mode = 0o600): number {
  const fd = openSync(file, flags | constants.O_NONBLOCK | constants.O_NOFOLLOW, mode);
  try {
    if (fstatSync(fd).isFile()) return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  closeSync(fd);
  throw new Error(`${file} is no regular file`);
}

/** What it is, mode and owner too, where it is the file that stands at the path and has no other name; else null. */
export function standingAs(fd: number, file: string): string | null {
  const [open, there] = [fstatSync(fd), lstatSync(file)];
  if (open.ino !== there.ino || open.dev !== there.dev || open.nlink !== 1) return null;
  return [open.ino, open.mode, open.uid, open.gid].join(' ');
}
