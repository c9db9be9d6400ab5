import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { type AgentNamespace, TREE_CGROUP_FILE } from '../../../shared/agent/access.ts';
import { cgroupMembers } from '../../../shared/platform/cgroup.ts';
import {
  envOf,
  inPidNamespace,
  type ProcessStat,
  processStat,
  withDescendants,
} from '../../../shared/platform/processes.ts';

/**
 * What no run may be named for, of the processes in the server's pid namespace: neither part of the server,
 * nor of another run, nor started by one that is. A child of the namespace's first process is no part of the
 * server by that: whatever has lost its parent is one. `own`: the server's processes, that one first.
 */
export function straysAmong<T extends Pick<ProcessStat, 'pid' | 'ppid'>>(
  members: readonly T[],
  own: readonly number[],
  isOfAnother: (member: T) => boolean,
): T[] {
  const [first] = own;
  const kept = new Set(own);
  for (const member of members) if (isOfAnother(member)) kept.add(member.pid);
  for (let before = -1; before < kept.size; ) {
    before = kept.size;
    for (const { pid, ppid } of members) if (ppid !== first && kept.has(ppid)) kept.add(pid);
  }
  return members.filter(({ pid }) => !kept.has(pid));
}

/** The same of the processes that there are now, when this run's turn has ended. */
export function straysOf({ id, own }: AgentNamespace, run: { marker: string; tree: string }): ProcessStat[] {
  const first = own[0] === undefined ? null : processStat(own[0]);
  // Once the server is gone the kernel has ended all of it, and its pids may be somebody else's.
  if (!first || namespaceOf(first.pid) !== id) return [];
  // By their parents too, for a command may make a namespace of its own below.
  const members = new Map(
    [...inPidNamespace(id), ...withDescendants([first])].map((stat) => [stat.pid, stat]),
  );
  const others = otherRuns(run);
  return straysAmong([...members.values()], own, ({ pid }) => {
    const marker = envOf(pid, 'VOLE_JOB_MARKER');
    const cwd = cwdOf(pid);
    return others.some(
      (other) =>
        other.marker === marker ||
        other.members.includes(pid) ||
        cwd === other.tree ||
        cwd.startsWith(`${other.tree}/`),
    );
  });
}

interface OtherRun {
  readonly tree: string;
  readonly marker: string;
  /** Pids in its cgroup. */
  readonly members: readonly number[];
}

/** Whose trees are there beside this run's. */
function otherRuns({ marker, tree }: { marker: string; tree: string }): OtherRun[] {
  const name = path.basename(tree);
  const prefix = marker.slice(0, -name.length);
  return readdirSync(path.dirname(tree))
    .filter((other) => other !== name)
    .map((other) => {
      const folder = path.join(path.dirname(tree), other);
      const cgroup = cgroupOf(folder);
      return {
        tree: folder,
        marker: prefix + other,
        members: cgroup === null ? [] : cgroupMembers(cgroup),
      };
    });
}

/** Null where it has none, or is no agent's run. */
function cgroupOf(tree: string): string | null {
  try {
    return readFileSync(path.join(tree, TREE_CGROUP_FILE), 'utf8').trim();
  } catch {
    return null;
  }
}

function namespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null; // it has ended
  }
}

function cwdOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // it has ended
  }
}
