import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { counted } from '../../shared/counted.ts';
import { readOwner } from '../../shared/owner-file.ts';
import { processesWithEnvPrefix } from '../../shared/platform/processes.ts';
import { NEW_PREFIX } from '../dir/job-tree.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import { ProcessSeats } from '../dir/process-seats.ts';
import type { Trash } from '../dir/trash.ts';
import { MARKER_ENV } from '../runs/processes-of-run.ts';
import { hostFacts, ownerState } from './owner-state.ts';

/** No tree takes this long to be made. */
const MAKING_MS = 3_600_000;
const TAKEN_PREFIX = /^\.taken\.[^.]+\./;
export const TREE = /^\d+-\d+\.[0-9a-f]+$/;
/** What a sweep makes of the tree of a dead run, with the name of its process. */
export const TAKEN = /^\.taken\.([^.]+)\.\d+-\d+\.[0-9a-f]+$/;

/** A tree from which nobody can tell whose it is: its job removed or spoilt the record, or the host lost power. */
export interface UnownedTree {
  readonly name: string;
  /** Why, in words that go on after `jobs/<name> has`. */
  readonly fault: 'no owner record' | 'an owner record that cannot be read';
}

export function unownedTrees(jobs: string): UnownedTree[] {
  return readdirSync(jobs).flatMap((name): UnownedTree[] => {
    if (name.startsWith(NEW_PREFIX)) return [];
    const record = readOwner(path.join(jobs, name));
    if (record === null) return [{ name, fault: 'no owner record' }];
    return record === 'unreadable' ? [{ name, fault: 'an owner record that cannot be read' }] : [];
  });
}

/** The marker in the environment of its processes, up to its end; the name alone tells it. */
export function markerOf(dir: RunnerDir, tree: string): string {
  return `${dir.id}/${tree.replace(TAKEN_PREFIX, '')}\0`;
}

/** Whether a tree that is being made has been so for too long, so that whoever made it is gone. */
export function isAbandoned(tree: string): boolean {
  // By the time of the last change of its inode, which no job can set back.
  const stat = lstatSync(tree, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.ctimeMs > MAKING_MS;
}

/** Why the tree of a runner that has died is kept, and what to do. */
export const ELSEWHERE =
  'its runner has died in another pid namespace, such as a container, which may still be there; once it is gone, `vole cache verify` removes the tree, as root on the host itself';

/** Trees of dead runners in pid namespaces of this boot that are not ours. */
function treesOfElsewhere(dir: RunnerDir): { name: string; isGone: boolean }[] {
  const seats = new ProcessSeats(dir);
  const facts = hostFacts();
  return readdirSync(dir.layout.jobs).flatMap((name) => {
    const record = name.startsWith(NEW_PREFIX) ? null : readOwner(path.join(dir.layout.jobs, name));
    if (record === null || record === 'unreadable') return [];
    const { directory, bootId, pidNamespace, process } = record.identity;
    if (directory !== dir.id || bootId !== facts.bootId || pidNamespace === facts.pidNamespace) return [];
    if (seats.lives(process)) return [];
    return [{ name, isGone: ownerState(record, facts) === 'dead' }];
  });
}

/** Trees that keep from removal what nobody may use any more, with a line for each: why, and what to do. */
export function keepersOf(dir: RunnerDir): { tree: string; why: string }[] {
  const remedy =
    'it goes with its job, or when a runner starts or `vole cache verify` runs while no runner lives';
  const unreadable = unownedTrees(dir.layout.jobs).filter(({ fault }) => fault !== 'no owner record');
  return [
    ...unreadable.map((tree) => ({ tree: tree.name, why: `${saidOf(tree)}; ${remedy}` })),
    ...treesOfElsewhere(dir).flatMap(({ name, isGone }) =>
      isGone ? [] : [{ tree: name, why: keptElsewhere(name) }],
    ),
  ];
}

function keptElsewhere(name: string): string {
  return `jobs/${name} is kept, and what its job used: ${ELSEWHERE}`;
}

/**
 * Removes such trees where nobody can own them: no runner process lives that may have run a job, and
 * none can come meanwhile since it would have to sweep first, and no process of theirs runs. And those of
 * dead runners elsewhere, which no start there comes to sweep. Gives a line for each: what was removed;
 * what is kept, why, and what to do.
 */
export async function removeUnowned(
  dir: RunnerDir,
  trash: Trash,
): Promise<{ removed: string[]; kept: string[] }> {
  const removed: string[] = [];
  const kept: string[] = [];
  if (unownedTrees(dir.layout.jobs).length + treesOfElsewhere(dir).length === 0) return { removed, kept };
  const turn = await dir.guards.exclusive('sweep');
  try {
    const othersLive = new ProcessSeats(dir).othersThan(null);
    for (const tree of unownedTrees(dir.layout.jobs)) {
      if (!TREE.test(tree.name) && !TAKEN.test(tree.name)) {
        kept.push(`${saidOf(tree)}, and no tree of vole's has such a name: move it away`);
        continue;
      }
      const why = othersLive
        ? 'runners live that may own it: when its job is over, stop them'
        : runningOf(dir, tree.name);
      if (why !== null) kept.push(`${saidOf(tree)}: ${why}, then run \`vole cache verify\` again`);
      else if (trash.tryPut(path.join(dir.layout.jobs, tree.name)) === 'put') {
        removed.push(`jobs/${tree.name}, which had ${tree.fault}`);
      }
    }
    for (const { name, isGone } of treesOfElsewhere(dir)) {
      if (!isGone) kept.push(keptElsewhere(name));
      else if (trash.tryPut(path.join(dir.layout.jobs, name)) === 'put') {
        removed.push(`jobs/${name}, whose runner has died with its pid namespace`);
      }
    }
  } finally {
    turn.release();
  }
  return { removed, kept };
}

function runningOf(dir: RunnerDir, tree: string): string | null {
  const pids = processesWithEnvPrefix(MARKER_ENV, markerOf(dir, tree)).map(({ pid }) => pid);
  if (pids.length === 0) return null;
  return `${counted(pids.length, 'process', 'processes')} of its job ${pids.length === 1 ? 'runs' : 'run'} (${pids.join(', ')}): end ${pids.length === 1 ? 'it' : 'them'}`;
}

/** With what it means for the caches. */
function saidOf({ name, fault }: UnownedTree): string {
  const cost =
    fault === 'no owner record' ? '' : ', so nothing in cache/ and git/ can be removed while it is there';
  return `jobs/${name} has ${fault}${cost}`;
}
