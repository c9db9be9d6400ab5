import { mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import path from 'node:path';
import type { HeldGuard } from '../../shared/lock/types.ts';
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

/** The name under which a live runner holds a job's tree, so that no sweep on this kernel can mistake it. */
export function treeGuardName(tree: string): string {
  return `job-${path.basename(tree)}`;
}

/**
 * Makes `jobs/<run>-<attempt>.<server>` with its owner record in it. The tree is made under another
 * name and appears under its own with the record, so a tree without one is always a leftover.
 */
export async function makeJobTree(
  dir: RunnerDir,
  trash: Trash,
  identity: OwnerIdentity,
  options: { signal?: AbortSignal } = {},
): Promise<JobTree> {
  const { layout, guards } = dir;
  const tree = layout.jobTree(identity.run, identity.attempt, identity.server);
  const guard: HeldGuard = await guards.exclusive(treeGuardName(tree), options);
  let making: string | null = null;
  try {
    making = mkdtempSync(path.join(layout.jobs, NEW_PREFIX));
    const owner = new OwnerFile(making);
    owner.create(identity);
    mkdirSync(path.join(making, 'src'));
    mkdirSync(path.join(making, 'tmp'));
    trash.put(tree); // of an attempt that this server gave twice, after its data were restored
    renameSync(making, tree);
  } catch (error) {
    if (making !== null) trash.tryPut(making);
    guard.release();
    throw error;
  }
  let disposed = false;
  const dispose = (): void => {
    if (disposed) return;
    disposed = true;
    // What may not be moved keeps its record, and the next start's sweep tries again.
    trash.tryPut(tree);
    guard.release();
  };
  return { path: tree, owner: new OwnerFile(tree), dispose };
}
