import type { OwnerRecord } from '../../shared/owner-record.ts';
import { cgroupMembers } from '../../shared/platform/cgroup.ts';
import {
  bootId,
  groupMembers,
  type ProcessStat,
  pidNamespace,
  pidNamespaceIsGone,
  processesWithEnv,
  processStat,
  sameProcessAlive,
} from '../../shared/platform/processes.ts';

/**
 * What is known of a job's owner and processes from here.
 *
 * - `alive`: the runner that owns it runs; `leftovers`: it does not, but processes of the job do, or a
 *   container of it may
 * - `dead`: nothing of it runs; `unknown`: its pids belong to another pid namespace of this boot, which
 *   may still be there
 *
 * Everything but `dead` keeps what the job uses: unknown is busy.
 */
export type OwnerState = 'alive' | 'leftovers' | 'dead' | 'unknown';

/** What is looked up on this host to decide it. */
export interface OwnerFacts {
  readonly bootId: string;
  readonly pidNamespace: string;
  sameProcessAlive(pid: number, start: string): boolean;
  /** Whether it is certain that no process is left in that pid namespace. */
  pidNamespaceIsGone(pidNamespace: string): boolean;
  /** Living processes of the job, however found. */
  leftovers(record: OwnerRecord): readonly ProcessStat[];
}

export function ownerState(record: OwnerRecord, facts: OwnerFacts): OwnerState {
  const { identity } = record;
  if (identity.bootId !== facts.bootId) return 'dead';
  const isElsewhere = identity.pidNamespace !== facts.pidNamespace;
  if (isElsewhere && !facts.pidNamespaceIsGone(identity.pidNamespace)) return 'unknown';
  if (!isElsewhere && facts.sameProcessAlive(identity.pid, identity.pidStart)) return 'alive';
  // Whether a container still runs only its engine can tell, and only a sweep asks it.
  if (record.engineObjects.length > 0) return 'leftovers';
  return facts.leftovers(record).length > 0 ? 'leftovers' : 'dead';
}

/** The facts of this host, now. */
export function hostFacts(): OwnerFacts {
  return {
    bootId: bootId(),
    pidNamespace: pidNamespace(),
    sameProcessAlive,
    pidNamespaceIsGone,
    leftovers: leftoversOf,
  };
}

/**
 * By the groups that the record names, the job's cgroup, and the marker in the environment. A group
 * counts only while its leader is the process recorded: its number may belong to somebody else by now.
 * Where the leader has gone, or its number is of another pid namespace, cgroup and marker find the members.
 */
export function leftoversOf(record: OwnerRecord): ProcessStat[] {
  const found = new Map<number, ProcessStat>();
  const { cgroup, marker } = record.identity;
  const isHere = record.identity.pidNamespace === pidNamespace();
  for (const { pgid, start } of isHere ? record.groups : []) {
    if (processStat(pgid)?.start !== start) continue;
    for (const member of groupMembers(pgid)) found.set(member.pid, member);
  }
  for (const stray of processesWithEnv('VOLE_JOB_MARKER', marker)) found.set(stray.pid, stray);
  for (const pid of cgroup ? cgroupMembers(cgroup) : []) {
    if (!found.has(pid)) found.set(pid, { pid, state: '?', ppid: 0, pgid: pid, start: '' });
  }
  return [...found.values()];
}
