import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { JobSpec } from '../../shared/job-spec.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { Git } from '../checkout/git.ts';
import { makeGitDir } from '../checkout/tree.ts';

type Source = NonNullable<JobSpec['source']>;

/** What an image is built from: a folder of the commit, and the file in it. */
export interface BuildContext {
  /** Git's id of the folder: of every name, mode and byte in it. */
  readonly tree: string;
  /** Name of the file in that folder. */
  readonly file: string;
}

/**
 * Finds the folder of an image-file in the commit; a text is why not. What is a symbolic link is refused
 * where an engine's client would follow it: it may lead to any file of this host.
 */
export async function findContext(
  git: Git,
  src: string,
  sha: string,
  imageFile: string,
): Promise<BuildContext | string> {
  const file = path.posix.basename(imageFile);
  const folder = path.posix.dirname(imageFile);
  const absent = `${imageFile} is not in commit ${sha.slice(0, 12)}`;
  const named = folder === '.' ? `${sha}^{tree}` : `${sha}:${folder}`;
  const tree = await git(['rev-parse', '--quiet', '--verify', named], src);
  if (!tree.ok) return absent;
  const listed = await git(['ls-tree', '-z', tree.stdout.trim()], src);
  if (!listed.ok) return absent;
  const modes = new Map(
    listed.stdout.split('\0').map((entry) => [entry.slice(entry.indexOf('\t') + 1), entry.slice(0, 6)]),
  );
  const mode = modes.get(file);
  if (mode === undefined) return absent;
  if (!mode.startsWith('100')) return `${imageFile} is no plain file in commit ${sha.slice(0, 12)}`;
  for (const ignore of [
    '.dockerignore',
    '.containerignore',
    `${file}.dockerignore`,
    `${file}.containerignore`,
  ]) {
    if (modes.get(ignore)?.startsWith('120')) return `${path.posix.join(folder, ignore)} is a symbolic link`;
  }
  return { tree: tree.stdout.trim(), file };
}

/** Writes the folder as git has it, and nothing else, such as the checkout's `.git`; a text is why not. */
export async function writeContext(
  task: WorkerTask,
  source: Source,
  savedCheckout: string,
  git: Git,
  tree: string,
): Promise<{ dir: string; remove: () => void } | string> {
  const dir = path.join(task.paths.tree, 'image-context');
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  remove();
  mkdirSync(dir);
  makeGitDir(dir, source, savedCheckout);
  const filled = await git(['-c', 'checkout.workers=8', 'read-tree', '--reset', '-u', tree], dir);
  rmSync(path.join(dir, '.git'), { recursive: true, force: true });
  if (filled.ok) return { dir, remove };
  remove();
  return filled.why;
}

export function readDockerfile(dir: string, file: string): string {
  return readFileSync(path.join(dir, file), 'utf8');
}
