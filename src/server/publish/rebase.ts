import type { Quarantine } from './quarantine.ts';

export type Rebased =
  | { readonly ok: true; readonly sha: string }
  | { readonly ok: false; readonly why: string };

const NOBODY = {
  GIT_AUTHOR_NAME: 'vole',
  GIT_AUTHOR_EMAIL: 'vole@localhost',
  GIT_COMMITTER_NAME: 'vole',
  GIT_COMMITTER_EMAIL: 'vole@localhost',
};
const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * What `git cherry-pick` makes of one commit on another, without a working tree, so that nothing of the
 * repository's attributes is carried out. Author, committer, dates and message stay as they are: the same
 * commit on the same one is the same again.
 */
export async function rebase(
  git: Quarantine['git'],
  commit: string,
  { parent, onto }: { parent: string; onto: string },
): Promise<Rebased> {
  // three commits made for it: their merge base is the parent, whatever the branch's history became
  const base = await commitTree(git, parent, null);
  const ours = base && (await commitTree(git, onto, base));
  const theirs = base && (await commitTree(git, commit, base));
  if (!ours || !theirs) return failed('a commit of it cannot be read');
  const merged = await git(['merge-tree', '--write-tree', '--name-only', '--no-messages', ours, theirs]);
  const [tree = '', ...files] = merged.stdout.split('\n').filter((line) => line !== '');
  if (!HASH.test(tree)) return failed(merged.why);
  if (!merged.ok) return failed(`it conflicts with what was pushed meanwhile in ${someOf(files)}`);
  const unchanged = await git(['rev-parse', '--verify', `${onto}^{tree}`]);
  if (unchanged.stdout.trim() === tree) return failed('all of it has been pushed by somebody else meanwhile');
  const body = await git(['cat-file', 'commit', commit], { maxBytes: 16 * 1024 * 1024 });
  if (!body.ok) return failed(body.why);
  const input = onNewParent(body.stdout, tree, onto);
  const made = await git(['hash-object', '-t', 'commit', '-w', '--stdin'], { input });
  const sha = made.stdout.trim();
  return made.ok && HASH.test(sha) ? { ok: true, sha } : failed(made.why);
}

/** A commit object's text with another tree and parent; a signature would be wrong now and goes. */
export function onNewParent(text: string, tree: string, parent: string): string {
  const end = text.indexOf('\n\n');
  const head = end < 0 ? text : text.slice(0, end);
  const kept = head
    .replace(/^tree .*$/m, `tree ${tree}`)
    .replace(/^parent .*$/m, `parent ${parent}`)
    .replace(/^gpgsig(?:-sha256)? .*(?:\n .*)*\n?/gm, '')
    .replace(/\n$/, '');
  return kept + (end < 0 ? '\n' : text.slice(end));
}

async function commitTree(git: Quarantine['git'], of: string, parent: string | null): Promise<string | null> {
  const parents = parent === null ? [] : ['-p', parent];
  const made = await git(['commit-tree', '-m', 'x', ...parents, `${of}^{tree}`], { env: NOBODY });
  const sha = made.stdout.trim();
  return made.ok && HASH.test(sha) ? sha : null;
}

function someOf(files: readonly string[]): string {
  const shown = files.slice(0, 5).join(', ');
  return files.length > 5 ? `${shown} and ${files.length - 5} more` : shown;
}

function failed(why: string): Rebased {
  return { ok: false, why };
}
