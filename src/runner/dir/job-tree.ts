import { mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import path from 'node:path';
import { OwnerFile } from '../../shared/owner-file.ts';
import type { OwnerIdentity } from '../../shared/owner-record.ts';
import type { RunnerDir } from './open-dir.ts';
import type { Trash } from './trash.ts';

/** Trees that are being made; whoever finds an old one may remove it, since no process uses it yet. */
export const NEW_PREFIX = '.new-';

export interface JobTree {
  readonly path: string;
  readonly owner: OwnerFile;
  /** Moves it away; deleting goes on behind. Idempotent. */
  dispose(): void;
}

/**
 * Makes `jobs/<run>-<attempt>.<server>` with its owner record in it. The tree is made under another
 * name and appears under its own with the record, so a tree without one is always a leftover.
 */
export function makeJobTree(dir: RunnerDir, trash: Trash, identity: OwnerIdentity): JobTree {
  const { layout } = dir;
  const tree = layout.jobTree(identity.run, identity.attempt, identity.server);
  const making = mkdtempSync(path.join(layout.jobs, NEW_PREFIX));
  let owner: OwnerFile | null = null;
  try {
    owner = new OwnerFile(making, identity);
    mkdirSync(path.join(making, 'src'));
    mkdirSync(path.join(making, 'tmp'));
    moveJobTree(tree, making, trash);
  } catch (error) {
    owner?.close();
    trash.put(making);
    throw error;
  }
  const record = owner;
  let disposed = false;
  const dispose = (): void => {
    if (disposed) return;
    disposed = true;
    record.close();
    trash.put(tree);
  };
  return { path: tree, owner: record, dispose };
}

/** What stands there already is of an attempt that a server gave twice, after its data were restored. */
export function moveJobTree(tree: string, making: string, trash: Trash): void {
  try {
    renameSync(making, tree);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOTDIR') throw error;
    trash.put(tree);
    renameSync(making, tree);
  }
}
