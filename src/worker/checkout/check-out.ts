import path from 'node:path';
import { guardName } from '../../shared/dir-layout.ts';
import { wholeLine } from '../../shared/errors.ts';
import type { JobSpec } from '../../shared/job-spec.ts';
import { withoutPasswords } from '../../shared/without-passwords.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { type Git, gitOf, looksCorrupt, NO_SETTINGS } from './git.ts';
import { SavedCheckout } from './saved-checkout.ts';
import { clearTree, fillTree, makeGitDir, updateSubmodules } from './tree.ts';

type Source = NonNullable<JobSpec['source']>;

/**
 * Makes the job's tree from the saved checkout. The shared guard of that is held from here to the end
 * of the run, since the tree borrows its objects; a fetch has a guard of its own beside it. A saved
 * checkout that turns out to be damaged is set aside and fetched afresh, once. Null where all is well.
 */
export async function checkOut(
  task: WorkerTask,
  source: Source,
  gitDir: string,
  main: MainThread,
  log: RunLog,
): Promise<PartFailure | null> {
  const git = gitOf(task, main);
  // What an agent has changed is taken without them too: a file that they convert would be a change.
  const filling = task.spec.agent ? gitOf(task, main, NO_SETTINGS) : git;
  const saved = new SavedCheckout(gitDir, git);
  try {
    for (let again = false; ; again = true) {
      const borrowed = await main.guard(guardName.savedCheckout(saved.name), 'shared');
      if (!borrowed.ok) return failure(borrowed.why);
      const { identity } = saved;
      const why =
        (await fetchIfMissing(saved, source, main, log)) ?? (await fill(task, source, saved, filling));
      if (why === null) return await submodules(task, source, git);
      if (again || main.stopped || !looksCorrupt(why)) return failure(why);
      log.say(0, `the saved checkout is damaged and is fetched afresh: ${why}`);
      borrowed.done();
      const denied = await setAside(task, saved, identity, main);
      if (denied !== null) return failure(denied);
    }
  } catch (error) {
    return failure(wholeLine(error));
  }
}

/** Looks again under the guard: of many jobs that miss a commit, one fetches it. */
async function fetchIfMissing(
  saved: SavedCheckout,
  source: Source,
  main: MainThread,
  log: RunLog,
): Promise<string | null> {
  if (await saved.has(source.sha)) return null;
  const turn = await main.guard(guardName.fetch(saved.name), 'exclusive');
  if (!turn.ok) return turn.why;
  try {
    if (await saved.has(source.sha)) return null;
    // which folder of this host it comes from is nobody's business, and may be a temporary one
    const from = source.url.startsWith('/') ? '' : ` from ${source.url}`;
    log.say(0, `fetching ${source.sha.slice(0, 12)}${from}`);
    return await saved.fetch(source);
  } finally {
    turn.done();
  }
}

async function fill(
  task: WorkerTask,
  source: Source,
  saved: SavedCheckout,
  git: Git,
): Promise<string | null> {
  clearTree(task.paths.src);
  // What a remote's URL may hold is not for an agent, which has no business with the remote.
  const shown = task.spec.agent ? { ...source, url: withoutPasswords(source.url) } : source;
  makeGitDir(task.paths.src, shown, saved.dir);
  return await fillTree(git, task.paths.src, source.sha);
}

async function submodules(task: WorkerTask, source: Source, git: Git): Promise<PartFailure | null> {
  if (!source.submodules) return null;
  const why = await updateSubmodules(git, task.paths.src, source);
  return why === null ? null : failure(why);
}

/** Waits until no job borrows its objects: those that still can finish. Null where it is out of the way. */
async function setAside(
  task: WorkerTask,
  saved: SavedCheckout,
  damaged: string | null,
  main: MainThread,
): Promise<string | null> {
  clearTree(task.paths.src);
  const alone = await main.guard(guardName.savedCheckout(saved.name), 'exclusive');
  if (!alone.ok) return alone.why;
  try {
    saved.setAside(path.join(path.dirname(path.dirname(saved.dir)), 'trash'), damaged);
    return null;
  } finally {
    alone.done();
  }
}

function failure(why: string): PartFailure {
  const full = /no space left|ENOSPC/i.test(why);
  return { reason: full ? 'disk-full' : 'checkout', why: `checkout: ${why}` };
}
