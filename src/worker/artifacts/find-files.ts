import { readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import picomatch from 'picomatch';

const SLASH = Buffer.from('/');

export interface FoundFile {
  /** Relative, as it is matched and shown: bytes that are no UTF-8 are U+FFFD. */
  readonly name: string;
  /** Its whole path, byte for byte. */
  readonly file: Buffer;
}

export interface Found {
  /** Files and links that stay inside, sorted by name, each name once. */
  readonly files: readonly FoundFile[];
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
  const files = new Map<string, Buffer>();
  const notes: string[] = [];
  const take = (name: string, file: Buffer): void => {
    const shown = name.includes('\uFFFD') ? ': its name is not UTF-8' : '';
    if (files.has(name)) notes.push(`one of several ${name} is left out${shown}`);
    else files.set(name, file);
  };
  const walk = async (folder: Buffer, prefix: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true, encoding: 'buffer' })) {
      const name = `${prefix}${entry.name.toString('utf8')}`;
      const file = Buffer.concat([folder, SLASH, entry.name]);
      if (name === '.git') continue;
      if (entry.isDirectory()) await walk(file, `${name}/`);
      else if (!matches(name)) continue;
      else if (entry.isFile()) take(name, file);
      else if (!entry.isSymbolicLink()) notes.push(`${name} is no file and is left out`);
      else if (await staysInside(root, name, file)) take(name, file);
      else notes.push(`${name} is a link out of the workspace and is left out`);
    }
  };
  await walk(Buffer.from(root), '');
  const sorted = [...files.keys()].toSorted();
  return { files: sorted.map((name) => ({ name, file: files.get(name) ?? Buffer.alloc(0) })), notes };
}

async function staysInside(root: string, name: string, link: Buffer): Promise<boolean> {
  const target = path.resolve(root, path.dirname(name), await readlink(link));
  return target.startsWith(`${root}/`);
}
