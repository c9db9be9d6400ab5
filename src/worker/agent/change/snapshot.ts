import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { counted } from '../../../shared/counted.ts';
import { wholeLine } from '../../../shared/errors.ts';
import type { Snapshot } from '../flows/flow.ts';
import { reviewDiff } from './diff.ts';
import type { OwnGit } from './own-git.ts';
import { gitFailed, type Unusable, unusable } from './unusable.ts';

const MIB = 1024 * 1024;

export interface ChangeBounds {
  readonly mostFileBytes: number;
  readonly mostBytes: number;
}

/** What a change may weigh: a repository keeps it for ever. */
export const CHANGE_BOUNDS: ChangeBounds = { mostFileBytes: 100 * MIB, mostBytes: 500 * MIB };

/** Mode of a commit of another repository in a tree. */
const GITLINK = '160000';

interface Entry {
  readonly mode: string;
  readonly object: string;
  readonly file: string;
}

/**
 * The work tree as a tree of git's, by the rules of `git add -A` and the repository's own `.gitignore`. No
 * repository inside the workspace is ever looked into, since git would start a git in it, with its settings:
 * submodules stay at the commit that they have, or go with their folder; other repositories are left out.
 */
export async function takeSnapshot(
  own: OwnGit,
  src: string,
  parent: string,
  base: string | null,
  bounds: ChangeBounds = CHANGE_BOUNDS,
): Promise<{ ok: true; snapshot: Snapshot } | Unusable> {
  const read = await own.git(['read-tree', parent]);
  if (!read.ok) return gitFailed('reading the commit', read);
  const listed = await own.git(['ls-files', '-s', '-z']);
  if (!listed.ok) return gitFailed('listing the commit', listed);
  const submodules = entriesOf(listed.stdout).filter(({ mode }) => mode === GITLINK);
  const hidden = await forget(own, submodules);
  if (hidden) return hidden;
  // Exits with 1 where something differs, which the next call tells better.
  await own.git(['update-index', '-q', '--refresh']);
  const candidates = await differing(own, src);
  if (!candidates.ok) return candidates;
  const found = lookAt(src, candidates.files, submodules, bounds);
  if (!found.ok) return found;
  const added = await own.git(['add', '-A', '--pathspec-from-file=-', '--pathspec-file-nul'], {
    input: [':/', ...found.leftOut.map((file) => `:(top,exclude,literal)${file}`)].join('\0'),
  });
  if (!added.ok) return gitFailed('taking the change', added);
  const restored = await putBack(own, src, submodules);
  if (restored) return restored;
  const written = await own.git(['write-tree']);
  if (!written.ok) return gitFailed('writing the change', written);
  const tree = written.stdout.trim();
  const diff = await reviewDiff(own, { parent, base, tree });
  if (!diff.ok) return diff;
  return { ok: true, snapshot: { tree, files: diff.files, diff: diff.text, notes: found.notes } };
}

function entriesOf(list: string): Entry[] {
  return list
    .split('\0')
    .filter(Boolean)
    .map((line) => {
      const tab = line.indexOf('\t');
      const [mode = '', object = ''] = line.slice(0, tab).split(' ');
      return { mode, object, file: line.slice(tab + 1) };
    });
}

async function forget(own: OwnGit, submodules: readonly Entry[]): Promise<Unusable | null> {
  if (submodules.length === 0) return null;
  const gone = await own.git(['update-index', '-z', '--force-remove', '--stdin'], {
    input: submodules.map(({ file }) => `${file}\0`).join(''),
  });
  return gone.ok ? null : gitFailed('setting the submodules aside', gone);
}

/** Changed, deleted and new paths; a repository that is not in the index is one path that ends with a slash. */
async function differing(own: OwnGit, src: string): Promise<{ ok: true; files: string[] } | Unusable> {
  const list = ['ls-files', '-z', '-m', '-o', '--exclude-standard'];
  let found = await own.git(list);
  if (found.ok && /could not open directory/i.test(found.stderr)) {
    const why = openFolders(src);
    if (why !== null) return unusable(why);
    found = await own.git(list);
  }
  if (!found.ok) return gitFailed('looking for changes', found);
  return { ok: true, files: [...new Set(found.stdout.split('\0').filter(Boolean))] };
}

/** Makes folders that cannot be read readable, for what is in them would be missing without a word. */
function openFolders(folder: string): string | null {
  try {
    if ((lstatSync(folder).mode & 0o700) !== 0o700) chmodSync(folder, 0o700);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isDirectory() || entry.name === '.git') continue;
      const why = openFolders(path.join(folder, entry.name));
      if (why !== null) return why;
    }
    return null;
  } catch (error) {
    return wholeLine(error);
  }
}

/** Judges the paths before anything of them is read: sizes, kinds, and modes that would be in the way. */
function lookAt(
  src: string,
  files: readonly string[],
  submodules: readonly Entry[],
  { mostFileBytes, mostBytes }: ChangeBounds,
): { ok: true; leftOut: string[]; notes: string[] } | Unusable {
  const known = new Set(submodules.map(({ file }) => `${file}/`));
  const leftOut: string[] = [];
  const notes: string[] = [];
  let bytes = 0;
  for (const file of files) {
    if (file.endsWith('/')) {
      leftOut.push(file.slice(0, -1));
      if (!known.has(file)) notes.push(`${file} is a repository of its own`);
      continue;
    }
    const full = path.join(src, file);
    let stat: ReturnType<typeof lstatSync>;
    try {
      stat = lstatSync(full);
    } catch {
      continue; // deleted
    }
    if (stat.isDirectory() || stat.isSymbolicLink()) continue;
    if (!stat.isFile()) {
      leftOut.push(file);
      notes.push(`${file} is no file`);
      continue;
    }
    if (stat.size > mostFileBytes)
      return unusable(`${file} has ${mib(stat.size)}, over ${mib(mostFileBytes)}`);
    bytes += stat.size;
    if ((stat.mode & 0o400) === 0) {
      try {
        chmodSync(full, stat.mode | 0o400);
      } catch (error) {
        return unusable(wholeLine(error));
      }
    }
  }
  if (bytes > mostBytes) {
    return unusable(
      `the change has ${mib(bytes)} in ${counted(files.length, 'file')}, over ${mib(mostBytes)}`,
    );
  }
  return { ok: true, leftOut, notes };
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}

/** Submodules whose folder is still there and did not become ordinary files. */
async function putBack(own: OwnGit, src: string, submodules: readonly Entry[]): Promise<Unusable | null> {
  if (submodules.length === 0) return null;
  const listed = await own.git(['ls-files', '-z']);
  if (!listed.ok) return gitFailed('listing the change', listed);
  const files = listed.stdout.split('\0');
  const left = submodules.filter(({ file }) => {
    const stat = lstatSync(path.join(src, file), { throwIfNoEntry: false });
    return stat?.isDirectory() && !files.some((other) => other.startsWith(`${file}/`));
  });
  if (left.length === 0) return null;
  const put = await own.git(['update-index', '-z', '--index-info'], {
    input: left.map(({ mode, object, file }) => `${mode} ${object}\t${file}\0`).join(''),
  });
  return put.ok ? null : gitFailed('putting the submodules back', put);
}
