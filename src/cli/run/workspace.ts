import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { VoleError } from '../../shared/errors.ts';
import {
  attempt,
  type Git,
  gitIn,
  repositoryTop,
  strayWorkflow,
  WORKFLOW,
  wayToWorkflow,
} from '../repository-here.ts';

/** The commit that `vole run` runs, and where it can be fetched from. */
export interface Workspace {
  /** `local/NAME`, after the folder. */
  readonly repository: string;
  readonly cloneUrl: string;
  readonly sha: string;
  /** The way to it from where the person stands. */
  readonly workflowFile: string;
  /** What a person should know about what is run; null where it is just HEAD. */
  readonly note: string | null;
  /** Nobody will fetch from `cloneUrl` again. */
  readonly temporary: boolean;
}

/** Neither the signature nor the hooks that a person's own commits have. */
const PLAIN = ['-c', 'commit.gpgsign=false', '-c', 'core.hooksPath=/dev/null'];

/**
 * The repository that `folder` is in, at `ref` or HEAD. Where there is no git checkout (or no commit
 * yet) the files are committed to a temporary repository in `scratch`, and the folder is left as it is.
 * Throws `VoleError` where there is no such commit, no workflow in it, or no git.
 */
export async function findWorkspace(
  folder: string,
  ref: string | null,
  scratch: string,
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<Workspace> {
  const git = gitIn(folder, env, signal);
  const top = await repositoryTop(git);
  const commit = `${ref ?? 'HEAD'}^{commit}`;
  const head = top && (await attempt(() => git(['rev-parse', '--verify', '-q', '--end-of-options', commit])));
  const workflowFile = wayToWorkflow(folder, top ?? folder);
  const stray = strayWorkflow(folder, top ?? folder);
  if (top && head) {
    return { ...(await committed(top, head, ref, gitIn(top, env, signal), stray)), workflowFile };
  }
  if (ref !== null) {
    const where = top ? `in ${top}` : `: ${folder} is no git checkout`;
    throw new VoleError('not-found', `no commit ${ref} ${where}`);
  }
  const root = top ?? folder;
  if (!existsSync(path.join(root, WORKFLOW))) throw noWorkflow(`in ${root}`, stray);
  const files = path.join(scratch, 'files.git');
  const sha = await commitFiles(root, files, env, signal);
  const note = 'no commit here: running the files as they are';
  return { repository: nameOf(root), cloneUrl: files, sha, workflowFile, note, temporary: true };
}

async function committed(
  top: string,
  sha: string,
  ref: string | null,
  git: Git,
  stray: string,
): Promise<Omit<Workspace, 'workflowFile'>> {
  const short = sha.slice(0, 12);
  const has = await attempt(() => git(['cat-file', '-e', `${sha}:${WORKFLOW}`]));
  if (has === null) {
    const inFolder = existsSync(path.join(top, WORKFLOW));
    throw noWorkflow(`in ${top} at ${short}`, inFolder ? 'the one in the folder is not committed' : stray);
  }
  const changed = ref === null ? await git(['status', '--porcelain', '--untracked-files=normal']) : '';
  const note = changed
    ? `running the commit ${short}: changes that are not committed are not part of it`
    : null;
  return { repository: nameOf(top), cloneUrl: top, sha, note, temporary: false };
}

function noWorkflow(where: string, hint: string): VoleError {
  const what = hint || 'write one, with `jobs:`, in each `steps:`, in each `run: COMMAND`';
  return new VoleError('not-found', `no ${WORKFLOW} ${where}: ${what}; \`vole run --help\` shows an example`);
}

async function commitFiles(
  root: string,
  gitDir: string,
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<string> {
  const who = { NAME: 'vole', EMAIL: 'vole@localhost' };
  const author = { GIT_AUTHOR_NAME: who.NAME, GIT_AUTHOR_EMAIL: who.EMAIL };
  const committer = { GIT_COMMITTER_NAME: who.NAME, GIT_COMMITTER_EMAIL: who.EMAIL };
  const all = { ...env, ...author, ...committer, GIT_DIR: gitDir, GIT_WORK_TREE: root };
  const git = gitIn(root, all, signal);
  await git(['init', '-q', '-b', 'main']);
  await git(['add', '-A', '--', '.']);
  // What git ignores is not committed, and a commit of nothing fails without a word.
  const staged = await git(['ls-files', '--', WORKFLOW]);
  if (staged === '') throw noWorkflow(`to run in ${root}`, 'git ignores the one in the folder');
  await git([...PLAIN, 'commit', '-q', '-m', 'The files as they are']);
  return await git(['rev-parse', 'HEAD']);
}

/** The digest of the path keeps two folders of one name from sharing a cache. */
function nameOf(folder: string): string {
  const name = path
    .basename(folder)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '');
  const digest = createHash('sha256').update(folder).digest('hex').slice(0, 6);
  return `local/${name || 'files'}-${digest}`;
}
