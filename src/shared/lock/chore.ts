import path from 'node:path';
import lockfile from 'proper-lockfile';
import { oneLine } from '../errors.ts';
import { makeFolder } from '../platform/make-folder.ts';

/** A holder that has not renewed for this long is taken to hang: four missed renewals and some. */
const STALE_MS = 10_000;
const RENEW_MS = 2_000;

export type ChoreEnd = 'done' | 'held-elsewhere' | 'lost';

/**
 * What one process should do at a time and another takes over from one that hangs: a trimmer's turn,
 * checkout maintenance. Decided by time (a directory's mtime, renewed by a timer), so a holder that is
 * stopped or whose clock steps is robbed. That is right here, where doing a thing twice is only waste,
 * and never for a guard: nothing that a chore does may rely on being alone, and each thing it removes is
 * taken under its own guard.
 *
 * A holder that was robbed has its signal aborted; nothing is thrown and the process goes on.
 */
export async function runChore(
  locksDir: string,
  name: string,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<ChoreEnd> {
  makeFolder(locksDir);
  const robbed = new AbortController();
  let release: () => Promise<void>;
  try {
    release = await lockfile.lock(path.join(locksDir, `chore-${name}`), {
      realpath: false, // there is no file: only the lock's own directory
      stale: STALE_MS,
      update: RENEW_MS,
      retries: 0,
      // The default throws where nobody can catch it.
      onCompromised: (error) => robbed.abort(new Error(`the chore was taken over: ${oneLine(error)}`)),
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENOENT: stopped for so long while it took the turn that another took it over before it was known.
    if (code === 'ELOCKED' || code === 'ENOENT') return 'held-elsewhere';
    // A turn cannot be taken on a full disk, which is when trimming matters most: done by several, then.
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
    await work(robbed.signal);
    return 'done';
  }
  try {
    await work(robbed.signal);
  } finally {
    // A robbed lock is another's by now; releasing it would take it from that one.
    if (!robbed.signal.aborted) await release().catch(() => {});
  }
  return robbed.signal.aborted ? 'lost' : 'done';
}
