import type { OwnGit } from './own-git.ts';
import { gitFailed, type Unusable } from './unusable.ts';

/** Characters of a diff that a review is shown. */
const MOST_DIFF = 96 * 1024;
/** Files that are named where the diff was cut. */
const MOST_NAMED = 500;

/** No program of anybody's, no colours, no look into submodules. */
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color', '--submodule=short', '-r'];

export interface Trees {
  readonly parent: string;
  /** Where the branch began; null, or not here: the parent. */
  readonly base: string | null;
  readonly tree: string;
}

/**
 * What the tree changes: `files` against the parent, which is what will be committed, and `text` against the
 * base, so that a review of a later round sees the whole of it.
 */
export async function reviewDiff(
  own: OwnGit,
  { parent, base, tree }: Trees,
): Promise<{ ok: true; files: string[]; text: string } | Unusable> {
  const changed = await names(own, parent, tree);
  if (!changed.ok) return changed;
  const known = base !== null && (await own.git(['cat-file', '-e', `${base}^{commit}`])).ok;
  const from = known ? base : parent;
  let text = '';
  const shown = await own.git(['diff-tree', '-p', '-M', ...PLAIN, from, tree], {
    onOutput: (bytes, stream) => {
      if (stream === 'stdout' && text.length <= MOST_DIFF) text += bytes.toString('utf8');
    },
  });
  if (!shown.ok) return gitFailed('comparing', shown);
  if (text.length <= MOST_DIFF) return { ok: true, files: changed.files, text };
  const all = from === parent ? changed : await names(own, from, tree);
  if (!all.ok) return all;
  return { ok: true, files: changed.files, text: cutDiff(text, all.files) };
}

async function names(
  own: OwnGit,
  from: string,
  tree: string,
): Promise<{ ok: true; files: string[] } | Unusable> {
  const listed = await own.git(['diff-tree', '--name-status', '-z', '--no-renames', ...PLAIN, from, tree]);
  if (!listed.ok) return gitFailed('comparing', listed);
  const parts = listed.stdout.split('\0').filter(Boolean);
  const files: string[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) files.push(`${parts[at]} ${parts[at + 1]}`);
  return { ok: true, files };
}

/** At a line's end, with the names of all files, since the reader can look into the work tree. */
function cutDiff(text: string, files: readonly string[]): string {
  const kept = text.slice(0, Math.max(0, text.lastIndexOf('\n', MOST_DIFF)));
  const more = files.length - MOST_NAMED;
  return [
    kept,
    '',
    `[The diff is longer and was cut here. It changes ${files.length} files; read them in the work tree:]`,
    ...files.slice(0, MOST_NAMED),
    ...(more > 0 ? [`[and ${more} more]`] : []),
  ].join('\n');
}
