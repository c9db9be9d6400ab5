import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** All names are below one folder, with `/` between their parts. */
export interface Expected {
  /** That have to be there, with nothing in them that is not named here. */
  readonly folders: readonly string[];
  /** The same, where they need not be there. */
  readonly mayBe: readonly string[];
  /** By name, with their whole content. */
  readonly files: ReadonlyMap<string, string>;
  /** Folders that may be there and may have anything in them but for `unwanted`. */
  readonly free: readonly string[];
  readonly unwanted: readonly string[];
}

/**
 * Names of what is in a folder and not expected, is not as expected, or is missing; sorted. Links are not
 * followed: one in the place of a file or folder is foreign.
 */
export function foreignIn(root: string, expected: Expected): string[] {
  const { files, unwanted } = expected;
  const free = new Set(expected.free);
  const folders = new Set([...expected.folders, ...expected.mayBe]);
  const missing = new Set([...expected.folders, ...files.keys()]);
  const foreign = unwanted.filter((name) => lstatSync(path.join(root, name), { throwIfNoEntry: false }));
  const look = (below: string): void => {
    for (const entry of readdirSync(path.join(root, below), { withFileTypes: true })) {
      const name = below === '' ? entry.name : `${below}/${entry.name}`;
      missing.delete(name);
      if (entry.isDirectory() && free.has(name)) continue;
      const text = files.get(name);
      if (entry.isFile() && text !== undefined) {
        if (readFileSync(path.join(root, name), 'utf8') !== text) foreign.push(name);
      } else if (entry.isDirectory() && folders.has(name)) look(name);
      else foreign.push(name);
    }
  };
  look('');
  return [...foreign, ...missing].sort();
}
