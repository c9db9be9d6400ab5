import { constants, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Pack } from 'tar-stream';
import type { FoundFile } from './find-files.ts';

interface Look {
  lstat(file: Buffer): Promise<Stats>;
  readlink(file: Buffer): Promise<string>;
}

/** Adds files and links to an archive in order, with their modes and times, and nobody's name. */
export async function addEntries(archive: Pack, files: readonly FoundFile[], look: Look): Promise<void> {
  for (const { name, file } of files) {
    const stat = await look.lstat(file);
    const header = { name, mode: stat.mode & 0o777, mtime: stat.mtime };
    if (stat.isSymbolicLink()) {
      archive.entry({ ...header, type: 'symlink', linkname: await look.readlink(file) });
      continue;
    }
    if (!stat.isFile()) continue; // replaced since it was found
    if (stat.size === 0) {
      archive.entry({ ...header, size: 0 }, '');
      continue;
    }
    // No more than the size in the header: a file that grows meanwhile would break the archive.
    const source = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    await pipeline(
      source.createReadStream({ end: stat.size - 1 }),
      archive.entry({ ...header, size: stat.size }),
    );
  }
}
