import { readdirSync } from 'node:fs';
import path from 'node:path';

/** Regular files below a folder, relative to `cwd`; links are not followed, nor is git's own folder entered. */
export function eachFile(cwd: string, start: string): string[] {
  const files: string[] = [];
  const folders = [path.normalize(start)];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(path.join(cwd, folder))) {
      const file = path.join(folder, entry.name);
      if (entry.isFile()) files.push(file);
      else if (entry.isDirectory() && entry.name !== '.git') folders.push(file);
    }
  }
  return files;
}

function entriesOf(folder: string): ReturnType<typeof readEntries> {
  try {
    return readEntries(folder);
  } catch {
    return []; // not to be read, or gone meanwhile
  }
}

function readEntries(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}
