import { copyFileSync, existsSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { VoleError } from '../../shared/errors.ts';
import { attempt, type Git, gitIn } from '../repository-here.ts';

/** What keeps a person's hooks, monitors and signatures out of a commit that is none of theirs. */
const PLAIN = [
  ['commit.gpgsign', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  // it would be written beside their index
  ['core.splitIndex', 'false'],
  // line ends are converted as they would be in a commit, but nobody is asked about it
  ['core.safecrlf', 'false'],
].flatMap(([name, value]) => ['-c', `${name}=${value}`]);

const NAME = 'vole';
const EMAIL = 'vole@localhost';
const WHO = {
  GIT_AUTHOR_NAME: NAME,
  GIT_AUTHOR_EMAIL: EMAIL,
  GIT_COMMITTER_NAME: NAME,
  GIT_COMMITTER_EMAIL: EMAIL,
};

export interface Place {
  /** The files' top. */
  readonly root: string;
  /** Of the temporary repository, which is made. */
  readonly gitDir: string;
  readonly env: Record<string, string>;
  readonly signal: AbortSignal;
}

function plainGit(root: string, env: Record<string, string>, signal: AbortSignal): Git {
  const git = gitIn(root, { ...env, ...WHO }, signal);
  return (args, input) => git([...PLAIN, ...args], input);
}

/** All files below `root` that git does not ignore, as a first commit. */
export async function commitFiles({ root, gitDir, env, signal }: Place): Promise<string> {
  const git = plainGit(root, { ...env, GIT_DIR: gitDir, GIT_WORK_TREE: root }, signal);
  await git(['init', '-q', '-b', 'main']);
  await git(['add', '-A', '--', '.']);
  await git(['commit', '-q', '--allow-empty', '-m', 'The files as they are']);
  return await git(['rev-parse', 'HEAD']);
}

/**
 * The working tree of the checkout at `root`, as `git add -A` would take it, as a commit on top of `head`. Null where
 * that is what `head` has. Index, objects, refs and files of the checkout stay as they are. Submodules stay at the commits that the index has of them. Throws `VoleError`, `usage`
 * where a merge has left conflicts.
 */
export async function commitChanges(place: Place, head: string, title: string): Promise<string | null> {
  const { root, gitDir, env, signal } = place;
  const git = gitIn(root, env, signal);
  await borrow(git, root, gitDir);
  const apart = {
    GIT_INDEX_FILE: path.join(gitDir, 'index'),
    GIT_OBJECT_DIRECTORY: path.join(gitDir, 'objects'),
  };
  const changing = plainGit(root, { ...env, ...apart }, signal);
  await refuseConflicts(changing, root);
  const tree = await treeOfChanges(changing);
  if (tree === (await git(['rev-parse', `${head}^{tree}`]))) return null;
  const sha = await changing(['commit-tree', '-p', head, '-m', title, tree]);
  await plainGit(gitDir, env, signal)(['update-ref', 'refs/heads/main', sha]);
  return sha;
}

/** A repository that has the other one's objects, and a copy of its index. */
async function borrow(git: Git, root: string, gitDir: string): Promise<void> {
  const names = ['objects', 'index', 'shallow'].flatMap((name) => ['--git-path', name]);
  const paths = (await git(['rev-parse', ...names])).split('\n').map((name) => path.resolve(root, name));
  const [objects = '', index = '', shallow = ''] = paths;
  await git(['init', '-q', '--bare', '--template=', '-b', 'main', gitDir]);
  writeFileSync(path.join(gitDir, 'objects', 'info', 'alternates'), `${objects}\n`);
  if (existsSync(shallow)) copyFileSync(shallow, path.join(gitDir, 'shallow'));
  // where Git LFS keeps files; it looks for them in the repository that is fetched from
  const largeFiles = path.join(path.dirname(objects), 'lfs');
  if (existsSync(largeFiles)) symlinkSync(largeFiles, path.join(gitDir, 'lfs'));
  if (existsSync(index)) copyIndex(index, path.join(gitDir, 'index'));
}

/** With its time, not later: git looks into files that were changed when the index was written or since. */
function copyIndex(from: string, to: string): void {
  const { atimeMs, mtimeMs } = statSync(from);
  copyFileSync(from, to);
  utimesSync(to, atimeMs / 1000, Math.floor(mtimeMs / 1000));
}

async function refuseConflicts(git: Git, root: string): Promise<void> {
  const entries = (await git(['ls-files', '-u', '-z'])).split('\0').filter(Boolean);
  const [first, ...others] = new Set(entries.map((entry) => entry.slice(entry.indexOf('\t') + 1)));
  if (first === undefined) return;
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  throw new VoleError(
    'usage',
    `--dirty: ${root} has conflicts of a merge in ${first}${more}: resolve them and \`git add\` them`,
  );
}

async function treeOfChanges(git: Git): Promise<string> {
  const sparse = (await attempt(() => git(['config', '--bool', 'core.sparseCheckout']))) === 'true';
  const before = await git(['write-tree']);
  await git(['add', '-A', ...(sparse ? ['--sparse'] : [])]);
  const after = await git(['write-tree']);
  const changes = await git(['diff-tree', '-r', '--raw', '-z', '--no-renames', '--no-abbrev', before, after]);
  const entries = recordedSubmodules(changes);
  if (entries === '') return after;
  await git(['update-index', '-z', '--index-info'], entries);
  return await git(['write-tree']);
}

/**
 * What `update-index --index-info` takes to have submodules back as they were, from what `diff-tree --raw -z` says. A
 * repository within the working tree that is no submodule is not taken: there is nothing of it that could be fetched.
 */
export function recordedSubmodules(changes: string): string {
  const found = changes.matchAll(/(?<=^|\0):(\d+) 160000 ([0-9a-f]+) [0-9a-f]+ \w\0([^\0]+)(?=\0)/g);
  return [...found]
    .map(([, mode, hash, file]) => `${mode === '160000' ? mode : '0'} ${hash}\t${file}\0`)
    .join('');
}
