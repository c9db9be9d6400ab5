import { readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import picomatch from 'picomatch';

export interface Found {
  /** Relative paths of files and of links that stay inside, sorted. */
  readonly files: readonly string[];
  /** What was left out, and why. */
  readonly notes: readonly string[];
}

/**
 * The files of the workspace that match. The walk follows no link: a link is taken as a link, and only
 * where what it names is inside the workspace. A pattern that names a folder takes what is in it.
 */
export async function findFiles(root: string, patterns: readonly string[]): Promise<Found> {
  const outside = patterns.filter((pattern) => path.isAbsolute(pattern) || pattern.split('/').includes('..'));
  if (outside.length > 0) throw new Error(`path ${outside[0]} leaves the workspace`);
  const globs = patterns.flatMap((pattern) => {
    const clean = pattern.replace(/^\.\//, '').replace(/\/+$/, '') || '**';
    return [clean, `${clean}/**`];
  });
  const matches = picomatch(globs, { dot: true });
  const files: string[] = [];
  const notes: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(path.join(root, folder), { withFileTypes: true })) {
      const relative = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (relative === '.git') continue;
      if (entry.isDirectory()) await walk(relative);
      else if (!matches(relative)) continue;
      else if (entry.isFile()) files.push(relative);
      else if (!entry.isSymbolicLink()) notes.push(`${relative} is no file and is left out`);
      else if (await staysInside(root, relative)) files.push(relative);
      else notes.push(`${relative} is a link out of the workspace and is left out`);
    }
  };
  await walk('');
  return { files: files.toSorted(), notes };
}

async function staysInside(root: string, link: string): Promise<boolean> {
  const target = path.resolve(root, path.dirname(link), await readlink(path.join(root, link)));
  return target.startsWith(`${root}/`);
}
