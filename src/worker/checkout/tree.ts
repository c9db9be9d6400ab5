import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JobSpec } from '../../shared/job-spec.ts';
import type { Git } from './git.ts';

type Source = NonNullable<JobSpec['source']>;

/**
 * A `.git` made by hand: it borrows the saved checkout's objects by `alternates`, which is faster than
 * `git worktree add` and `git clone --shared`, leaves nothing in the saved checkout when the job is
 * killed, and gives a job that writes to its own `.git` nothing of ours to write to.
 */
export function makeGitDir(src: string, source: Source, savedCheckout: string): void {
  const dir = path.join(src, '.git');
  mkdirSync(path.join(dir, 'objects', 'info'), { recursive: true });
  mkdirSync(path.join(dir, 'refs', 'heads'), { recursive: true });
  writeFileSync(path.join(dir, 'objects', 'info', 'alternates'), `${path.join(savedCheckout, 'objects')}\n`);
  writeFileSync(path.join(dir, 'HEAD'), `${source.sha}\n`);
  writeFileSync(path.join(dir, 'config'), configOf(source));
  const ref = localRef(source.ref);
  if (ref) writeFileSync(path.join(dir, 'packed-refs'), `# pack-refs with: sorted\n${source.sha} ${ref}\n`);
}

/** Fills the work tree from the commit. Null where that went well. */
export async function fillTree(git: Git, src: string, sha: string): Promise<string | null> {
  const done = await git(['-c', 'checkout.workers=8', 'reset', '-q', '--hard', sha], src);
  return done.ok ? null : done.why;
}

export async function updateSubmodules(git: Git, src: string, source: Source): Promise<string | null> {
  // Git refuses local paths as submodules by default; a repository that is itself one is its owner's word for it.
  const local = source.url.startsWith('/') || source.url.startsWith('file:');
  const allow = local ? ['-c', 'protocol.file.allow=always'] : [];
  const done = await git(
    [...allow, 'submodule', '-q', 'update', '--init', '--recursive', '--jobs', '4'],
    src,
  );
  return done.ok ? null : `submodules: ${done.why}`;
}

/** Empties the tree, for another try. */
export function clearTree(src: string): void {
  rmSync(src, { recursive: true, force: true });
  mkdirSync(src, { recursive: true });
}

function localRef(ref: string): string | null {
  if (/\s/.test(ref)) return null; // no name of a ref, and it would be several lines here
  if (ref.startsWith('refs/heads/')) return `refs/remotes/origin/${ref.slice('refs/heads/'.length)}`;
  return ref.startsWith('refs/tags/') ? ref : null;
}

function configOf(source: Source): string {
  const sha256 = source.sha.length === 64;
  return [
    '[core]',
    `\trepositoryformatversion = ${sha256 ? 1 : 0}`,
    '\tfilemode = true',
    '\tbare = false',
    '\tlogallrefupdates = true',
    ...(sha256 ? ['[extensions]', '\tobjectformat = sha256'] : []),
    '[gc]',
    '\tauto = 0',
    '[remote "origin"]',
    `\turl = ${quoted(source.url)}`,
    '\tfetch = +refs/heads/*:refs/remotes/origin/*',
    '',
  ].join('\n');
}

function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, (found) => `\\${found}`).replaceAll('\n', '\\n')}"`;
}
