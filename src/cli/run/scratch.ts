import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Guards } from '../../shared/lock/guard.ts';

const PREFIX = 'vole-run-';
const LOCK = 'owner';
/** A folder without a lock is just being made, or was left so by a process that was killed there. */
const UNLOCKED_MS = 3_600_000;

export interface Scratch {
  readonly path: string;
  /** Idempotent. */
  remove(): void;
}

/**
 * A temporary folder of this process, which holds a lock in it for as long as it lives: so the next one knows
 * the folders of those that were killed, and removes them.
 */
export function takeScratch(parent = os.tmpdir()): Scratch {
  removeLeft(parent);
  for (;;) {
    const folder = mkdtempSync(path.join(parent, PREFIX));
    const guard = guardIn(folder);
    // Another process may look for what was left between the two lines above.
    if (!guard || !existsSync(folder)) continue;
    const remove = (): void => {
      rmSync(folder, { recursive: true, force: true });
      guard.release();
    };
    return { path: folder, remove };
  }
}

/** Of this user alone, and no links: everybody may write in a folder for temporary files. */
function removeLeft(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = path.join(parent, name);
    try {
      const stat = lstatSync(folder);
      if (!stat.isDirectory() || stat.uid !== process.getuid?.()) continue;
      const isLocked = existsSync(path.join(folder, 'locks', LOCK));
      if (!isLocked && Date.now() - stat.mtimeMs < UNLOCKED_MS) continue;
      const guard = guardIn(folder);
      if (!guard) continue;
      rmSync(folder, { recursive: true, force: true });
      guard.release();
    } catch {
      // somebody else removes it as well, or it withstands: it is no reason not to run
    }
  }
}

function guardIn(folder: string) {
  return new Guards(path.join(folder, 'locks')).try(LOCK, 'exclusive');
}
