import { opendirSync } from 'node:fs';

export const SLASH = Buffer.from('/');

/**
 * The entries of a directory, read a few at a time, since it may hold more than fits in memory. Names
 * are bytes: a job may give ones that are no UTF-8, and as text they name nothing. Throws as the file
 * system does.
 */
export function eachEntry(folder: string | Buffer, use: (name: Buffer, isFolder: boolean) => void): void {
  // The path is bytes too: Node joins it with a name where the file system does not tell the type. Its
  // types know of no such encoding here, as they do for `readdir`.
  const encoding = 'buffer' as BufferEncoding;
  const dir = opendirSync(Buffer.from(folder), { bufferSize: 512, encoding });
  try {
    for (let entry = dir.readSync(); entry; entry = dir.readSync()) {
      use(entry.name as unknown as Buffer, entry.isDirectory());
    }
  } finally {
    dir.closeSync();
  }
}
