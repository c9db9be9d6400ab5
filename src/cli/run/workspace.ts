import path from 'node:path';
import { VoleError } from '../../shared/errors.ts';
import { runCommand } from '../../shared/platform/commands.ts';

/** The commit that `vole run` runs, and where it can be fetched from. */
export interface Workspace {
  /** `local/NAME`, after the folder. */
  readonly repository: string;
  readonly cloneUrl: string;
  readonly sha: string;
  /** What a person should know about what is run; null where it is just HEAD. */
  readonly note: string | null;
}

type Git = (args: readonly string[], env?: Record<string, string>) => Promise<string>;

/**
 * The repository that `folder` is in, at `ref` or HEAD. Where there is no git checkout (or no commit
 * yet) the files are committed to a temporary repository in `scratch`, and the folder is left as it is.
 */
export async function findWorkspace(
  folder: string,
  ref: string | null,
  scratch: string,
  env: Record<string, string>,
): Promise<Workspace> {
  const inFolder = gitIn(folder, env);
  const top = await attempt(() => inFolder(['rev-parse', '--show-toplevel']));
  const head =
    top && (await attempt(() => inFolder(['rev-parse', '--verify', '-q', `${ref ?? 'HEAD'}^{commit}`])));
  if (top && head) {
    const changed = ref === null ? await inFolder(['status', '--porcelain', '--untracked-files=normal']) : '';
    const note = changed
      ? `running the commit ${head.slice(0, 12)}: changes that are not committed are not part of it`
      : null;
    return { repository: nameOf(top), cloneUrl: top, sha: head, note };
  }
  if (ref !== null) {
    const where = top ? `in ${top}` : `: ${folder} is no git checkout`;
    throw new VoleError('not-found', `no commit ${ref} ${where}`);
  }
  const root = top ?? folder;
  const sha = await commitFiles(root, path.join(scratch, 'files.git'), env);
  const note = 'no commit here: running the files as they are';
  return { repository: nameOf(root), cloneUrl: path.join(scratch, 'files.git'), sha, note };
}

async function commitFiles(root: string, gitDir: string, env: Record<string, string>): Promise<string> {
  const git = gitIn(root, {
    ...env,
    GIT_DIR: gitDir,
    GIT_WORK_TREE: root,
    GIT_AUTHOR_NAME: 'vole',
    GIT_AUTHOR_EMAIL: 'vole@localhost',
    GIT_COMMITTER_NAME: 'vole',
    GIT_COMMITTER_EMAIL: 'vole@localhost',
  });
  await git(['init', '-q', '-b', 'main']);
  await git(['add', '-A', '--', '.']);
  await git(['-c', 'commit.gpgsign=false', 'commit', '-q', '--no-verify', '-m', 'The files as they are']);
  return await git(['rev-parse', 'HEAD']);
}

function gitIn(folder: string, env: Record<string, string>): Git {
  return async (args) => {
    const done = await runCommand('git', args, { cwd: folder, env, timeoutMs: 120_000 });
    if (done.missing) throw new VoleError('missing-tool', 'git is not on this host: install it');
    if (!done.ok) throw new VoleError('io-error', `git ${args[0]} in ${folder}: ${done.why}`);
    return done.stdout.trim();
  };
}

/** Null where git says no; a git that is missing is no answer. */
async function attempt(ask: () => Promise<string>): Promise<string | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof VoleError && error.code === 'missing-tool') throw error;
    return null;
  }
}

function nameOf(folder: string): string {
  const name = path
    .basename(folder)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '');
  return `local/${name || 'files'}`;
}
