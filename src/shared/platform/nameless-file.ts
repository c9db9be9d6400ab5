import { closeSync, openSync, rmSync, writeSync } from 'node:fs';

/** A text that another process of the same user can read by `path` until it is closed. */
export interface NamelessFile {
  readonly path: string;
  close(): void;
}

/** Writes it to `file` and takes the name away at once, so that nothing of it stays when this process is killed. */
export function namelessFile(file: string, text: string): NamelessFile {
  const fd = openSync(file, 'wx+', 0o600);
  rmSync(file);
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { path: `/proc/${process.pid}/fd/${fd}`, close: () => closeSync(fd) };
}
