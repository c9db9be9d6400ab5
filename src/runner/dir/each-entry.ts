import { opendirSync, readdirSync } from 'node:fs';

/** Read at once of a directory, which may hold more than fits in memory. */
const AT_ONCE = 512;
// oxlint-disable-next-line no-control-regex
const BEYOND_ASCII = /[^\u0000-\u007f]/;

/**
 * A path or a name with a character for each byte (latin1). A job may give names that are no UTF-8, and
 * read as text they would name nothing; a string of bytes is exact, and much cheaper to make than a Buffer.
 */
export type BytePath = string;

export function bytePath(path: string): BytePath {
  return Buffer.from(path).toString('latin1');
}

/** As the file system takes it. */
export function realPath(path: BytePath): string | Buffer {
  return isText(path) ? path : Buffer.from(path, 'latin1');
}

/** Whether the bytes are the same as text, whatever the encoding. */
export function isText(path: BytePath): boolean {
  return !BEYOND_ASCII.test(path);
}

/** All names of a directory at once: cheaper, for one that is known to be small. Throws as the file system does. */
export function entriesOf(folder: BytePath): BytePath[] {
  return readdirSync(realPath(folder), 'latin1');
}

/** As a person reads it. */
export function shownPath(path: BytePath): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}

/**
 * The entries of a directory, a few at a time; gives whether all were read before the first was used. Throws as
 * the file system does.
 */
export function eachEntry(folder: BytePath, use: (name: BytePath, isFolder: boolean) => void): boolean {
  const path = Buffer.from(folder, 'latin1');
  try {
    return read(path, 'latin1', use as (name: unknown, isFolder: boolean) => void);
  } catch (error) {
    // The file system does not tell the types of its entries. Node then joins their names with the path,
    // which must be of one kind: nothing was given yet.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_INVALID_ARG_TYPE') throw error;
    return read(path, 'buffer', (name, isFolder) => use((name as Buffer).toString('latin1'), isFolder));
  }
}

function read(path: Buffer, encoding: string, use: (name: unknown, isFolder: boolean) => void): boolean {
  // Node's types know of no 'buffer' here, as they do for `readdir`.
  const dir = opendirSync(path, { bufferSize: AT_ONCE, encoding: encoding as BufferEncoding });
  try {
    let count = 0;
    for (let entry = dir.readSync(); entry; entry = dir.readSync()) {
      count += 1;
      use(entry.name, entry.isDirectory());
    }
    return count < AT_ONCE;
  } finally {
    dir.closeSync();
  }
}
