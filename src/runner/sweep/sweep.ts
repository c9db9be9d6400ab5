import { existsSync, lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { oneLine } from '../../shared/errors.ts';
import type { HeldGuard } from '../../shared/lock/types.ts';
import { readOwner } from '../../shared/owner-file.ts';
import type { OwnerRecord } from '../../shared/owner-record.ts';
import { killCgroup, removeCgroup } from '../../shared/platform/cgroup.ts';
import { signalProcess } from '../../shared/platform/processes.ts';
import { NEW_PREFIX, treeGuardName } from '../dir/job-tree.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import { hostFacts, leftoversOf, ownerState } from './owner-state.ts';

/** A run whose runner has died; its tree stays until `dispose`, so that the rest of its log can be sent. */
export interface DeadRun {
  readonly run: number;
  readonly attempt: number;
  readonly server: string;
  readonly account: string;
  readonly spool: string;
  dispose(): void;
}

export interface Swept {
  readonly dead: readonly DeadRun[];
  /** What was cleaned, and what was left and why, a line each. */
  readonly lines: readonly string[];
}

const GONE_MS = 10_000;
/** No tree takes this long to be made. */
const MAKING_MS = 3_600_000;

/**
 * Ends and removes what dead processes of this directory left. A tree is taken under its own guard,
 * which a live runner holds for the job's life, so several sweeps at once and a reused pid do no harm.
 */
export async function sweep(dir: RunnerDir, trash: Trash): Promise<Swept> {
  const dead: DeadRun[] = [];
  const lines: string[] = [];
  const emptied = trash.empty();
  if (emptied > 0) lines.push(`finishing ${emptied} interrupted removals`);
  for (const name of readdirSync(dir.layout.jobs)) {
    const tree = path.join(dir.layout.jobs, name);
    const guard = name.startsWith(NEW_PREFIX) ? null : dir.guards.try(treeGuardName(tree), 'exclusive');
    if (!guard && !name.startsWith(NEW_PREFIX)) continue; // its runner lives
    const found = await take(dir, trash, tree, guard, lines);
    if (found) dead.push(found);
  }
  sweepFifos(dir, trash);
  return { dead, lines };
}

/** The name under which a runner process shows that it lives. */
export function processGuardName(process: string): string {
  return `process-${process}`;
}

function sweepFifos(dir: RunnerDir, trash: Trash): void {
  const folder = dir.layout.fifos;
  if (!existsSync(folder)) return;
  for (const process of readdirSync(folder)) {
    const guard = dir.guards.try(processGuardName(process), 'exclusive');
    if (!guard) continue;
    trash.tryPut(path.join(folder, process));
    guard.release();
  }
}

/** Decides about one tree and keeps or releases its guard. */
async function take(
  dir: RunnerDir,
  trash: Trash,
  tree: string,
  guard: HeldGuard | null,
  lines: string[],
): Promise<DeadRun | null> {
  const name = path.basename(tree);
  const put = (): void => {
    try {
      trash.put(tree);
    } catch (error) {
      lines.push(`tree ${name} cannot be removed: ${oneLine(error)}`);
    }
    guard?.release();
  };
  if (name.startsWith(NEW_PREFIX)) {
    // Its maker holds the guard of the name it will have and takes milliseconds. Nothing runs in it.
    if (!isOld(tree)) return null;
    put();
    return null;
  }
  const record = readOwner(tree);
  if (record === null) {
    lines.push(`removed tree ${name}, which has no owner record`);
    put();
    return null;
  }
  if (record === 'unreadable') {
    lines.push(`left tree ${name}: its owner record cannot be read`);
    guard?.release();
    return null;
  }
  return await takeOwned(dir, record, tree, { lines, put, release: () => guard?.release() });
}

async function takeOwned(
  dir: RunnerDir,
  record: OwnerRecord,
  tree: string,
  how: { lines: string[]; put: () => void; release: () => void },
): Promise<DeadRun | null> {
  const { identity } = record;
  const name = path.basename(tree);
  const state = identity.directory === dir.id ? ownerState(record, hostFacts()) : 'unknown';
  if (state === 'alive' || state === 'unknown') {
    if (state === 'unknown') how.lines.push(`left tree ${name}: its processes cannot be looked up from here`);
    how.release();
    return null;
  }
  if (state === 'leftovers' && !(await endLeftovers(record))) {
    how.lines.push(`left tree ${name}: its processes withstand KILL`);
    how.release();
    return null;
  }
  if (identity.cgroup) removeCgroup(identity.cgroup);
  how.lines.push(`swept run ${identity.run} attempt ${identity.attempt}, whose runner has died`);
  const { run, attempt, server, account } = identity;
  return { run, attempt, server, account, spool: path.join(tree, 'log'), dispose: how.put };
}

async function endLeftovers(record: OwnerRecord): Promise<boolean> {
  const { cgroup } = record.identity;
  const deadline = performance.now() + GONE_MS;
  for (let left = leftoversOf(record); left.length > 0; left = leftoversOf(record)) {
    if (performance.now() > deadline) return false;
    if (cgroup) killCgroup(cgroup);
    for (const { pid } of left) signalProcess(pid, 'SIGKILL');
    await delay(10);
  }
  return true;
}

/** By the time of the last change of its inode, which no job can set back. */
function isOld(tree: string): boolean {
  const stat = lstatSync(tree, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.ctimeMs > MAKING_MS;
}
