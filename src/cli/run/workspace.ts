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
import { commitChanges, commitFiles, type Place } from './temporary-commit.ts';

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

/** Of the one that a person sees. */
const IGNORED = 'git ignores the one in the folder';
const RUN_DIRTY = '`vole run --dirty` to run the files as they are';

/** What a person wants of it. */
export interface Wanted {
  /** Null is HEAD. */
  readonly ref: string | null;
  /** The files as they are, in place of a commit. */
  readonly dirty: boolean;
}

/**
 * The repository that `folder` is in, at `ref` or HEAD. Where the files are wanted as they are, and where there is no
 * git checkout (or no commit yet), they are committed to a temporary repository in `scratch`, and the folder is left
 * as it is. Throws `VoleError` where there is no such commit, no workflow in it, or no git.
 */
export async function findWorkspace(
  folder: string,
  { ref, dirty }: Wanted,
  scratch: string,
  callerEnv: Record<string, string>,
  signal: AbortSignal,
): Promise<Workspace> {
  // only looking at it writes no index
  const env = { ...callerEnv, GIT_OPTIONAL_LOCKS: '0' };
  const git = gitIn(folder, env, signal);
  const top = await repositoryTop(git);
  const commit = `${ref ?? 'HEAD'}^{commit}`;
  const head = top && (await attempt(() => git(['rev-parse', '--verify', '-q', '--end-of-options', commit])));
  const workflowFile = wayToWorkflow(folder, top ?? folder);
  const stray = strayWorkflow(folder, top ?? folder);
  const root = top ?? folder;
  const place = { root, gitDir: path.join(scratch, 'files.git'), env, signal };
  if (!head && ref !== null) {
    const where = top ? `in ${top}` : `: ${folder} is no git checkout`;
    throw new VoleError('not-found', `no commit ${ref} ${where}`);
  }
  if (head && !dirty) {
    return { ...(await committed(root, head, ref, gitIn(root, env, signal), stray)), workflowFile };
  }
  return { ...(await (head ? withChanges(place, head, stray) : files(place, stray))), workflowFile };
}

type Found = Omit<Workspace, 'workflowFile'>;

async function committed(
  top: string,
  sha: string,
  ref: string | null,
  git: Git,
  stray: string,
): Promise<Found> {
  const short = sha.slice(0, 12);
  if (!(await hasWorkflow(git, sha))) {
    const where = `in ${top} at ${short}`;
    if (!existsSync(path.join(top, WORKFLOW))) throw noWorkflow(where, stray);
    throw new VoleError('not-found', `no ${WORKFLOW} ${where}: ${notInCommit(ref)}`);
  }
  const note = ref === null ? await differences(git, short) : null;
  return { repository: nameOf(top), cloneUrl: top, sha, note, temporary: false };
}

function notInCommit(ref: string | null): string {
  return ref === null
    ? `the one in the folder is not committed: commit it, or ${RUN_DIRTY}`
    : 'the one in the folder is not in that commit';
}

/** What a person should know of a checkout that is not as its commit is, or null. */
async function differences(git: Git, short: string): Promise<string | null> {
  if (await git(['status', '--porcelain', '--', WORKFLOW])) {
    return `\`${WORKFLOW}\` differs from the commit that runs: commit it, or ${RUN_DIRTY}`;
  }
  const changed = await git(['status', '--porcelain', '--untracked-files=normal']);
  if (!changed) return null;
  return `running the commit ${short}: changes that are not committed are not part of it; ${RUN_DIRTY}`;
}

/** Of a folder without a commit. */
async function files(place: Place, stray: string): Promise<Found> {
  const { root, gitDir, env, signal } = place;
  // before all of a folder is read that has none
  if (!existsSync(path.join(root, WORKFLOW))) throw noWorkflow(`in ${root}`, stray);
  const sha = await commitFiles(place);
  if (!(await hasWorkflow(gitIn(gitDir, env, signal), sha))) throw noWorkflow(`to run in ${root}`, IGNORED);
  const note = 'no commit here: running the files as they are';
  return { repository: nameOf(root), cloneUrl: gitDir, sha, note, temporary: true };
}

/** Of a checkout of `head`; that itself where nothing has changed. */
async function withChanges(place: Place, head: string, stray: string): Promise<Found> {
  const { root, gitDir, env, signal } = place;
  const short = head.slice(0, 12);
  const sha = await commitChanges(place, head, `${short} with changes`);
  const found = sha
    ? { cloneUrl: gitDir, sha, note: `running ${short} with changes: the files as they are`, temporary: true }
    : {
        cloneUrl: root,
        sha: head,
        note: `nothing is changed: running the commit ${short}`,
        temporary: false,
      };
  if (!(await hasWorkflow(gitIn(found.cloneUrl, env, signal), found.sha))) {
    const inFolder = existsSync(path.join(root, WORKFLOW));
    throw noWorkflow(`to run in ${root}`, inFolder ? IGNORED : stray);
  }
  return { repository: nameOf(root), ...found };
}

async function hasWorkflow(git: Git, sha: string): Promise<boolean> {
  return (await attempt(() => git(['cat-file', '-e', `${sha}:${WORKFLOW}`]))) !== null;
}

function noWorkflow(where: string, hint: string): VoleError {
  const what = hint || 'write one, with `jobs:`, in each `steps:`, in each `run: COMMAND`';
  return new VoleError('not-found', `no ${WORKFLOW} ${where}: ${what}; \`vole run --help\` shows an example`);
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
