import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isAlive, type ProcessStat, processStat } from './processes.ts';

/**
 * A container's cgroup as this host shows it, for whoever may not ask the engine each time: what runs in
 * it, and how often the kernel ended something there for want of memory. On v1 the two are in trees of
 * their own.
 */
export interface ContainerCgroup {
  /** Where its processes are listed. */
  readonly processes: string;
  /** Where its memory is counted. */
  readonly memory: string;
  /** Its main process, as this pid namespace has it. */
  readonly mainPid: number;
}

/**
 * By the main process's pid as the engine gives it. Null where the engine is on another machine or in
 * another pid namespace: then the process of that number here, if any, is not in a cgroup of that name.
 */
export function containerCgroup(mainPid: number, containerId: string): ContainerCgroup | null {
  if (mainPid <= 0 || containerId === '') return null;
  try {
    const lines = readFileSync(`/proc/${mainPid}/cgroup`, 'utf8').split('\n');
    const own = lines.map((line) => /^\d+:([^:]*):(.*)$/.exec(line)).filter((match) => match !== null);
    const of = (controller: string): string | null => {
      const v1 = own.find((match) => match[1]?.split(',').includes(controller));
      const match = v1 ?? own.find(([, controllers]) => controllers === '');
      const mount = mountPoint(v1 ? controller : null);
      if (!match || !mount || !match[2]?.includes(containerId)) return null;
      return path.join(mount, upToContainer(match[2], containerId));
    };
    const memory = of('memory');
    const processes = of('pids') ?? memory;
    return memory && processes ? { memory, processes, mainPid } : null;
  } catch {
    return null; // no such process here, or no `/proc`
  }
}

/** Where docker and podman put a container's, by cgroupfs and by systemd, below where cgroups are mounted. */
const USUAL = (id: string): string[] => [
  `docker/${id}`,
  `system.slice/docker-${id}.scope`,
  `machine.slice/libpod-${id}.scope`,
  `libpod_parent/libpod-${id}`,
];

/**
 * The same without the engine's word, where it is at its usual place. Null where it is not, or where its
 * main process has no pid here.
 */
export function findContainerCgroup(containerId: string): ContainerCgroup | null {
  const of = (controller: string): string | null => {
    const mount = mountPoint(controller) ?? mountPoint(null);
    const place = USUAL(containerId).find((usual) => mount && existsSync(path.join(mount, usual)));
    return mount && place ? path.join(mount, place) : null;
  };
  const memory = of('memory');
  const processes = of('pids');
  if (!memory || !processes) return null;
  const mainPid = pidsIn(processes)?.find(isMain);
  return mainPid ? { memory, processes, mainPid } : null;
}

/** Whether it is the first of its pid namespace, and ours another. */
function isMain(pid: number): boolean {
  return /^NSpid:\s.*\s1$/m.test(readProc(pid, 'status'));
}

/** Whose a process is, as its own user namespace has it where that is ours; null where it is not. */
export function userOf(pid: number): { uid: number; gid: number } | null {
  const identity = /^\s*0\s+0\s+4294967295$/;
  if (
    !identity.test(readProc(pid, 'uid_map').trimEnd()) ||
    !identity.test(readProc(pid, 'gid_map').trimEnd())
  ) {
    return null;
  }
  const status = readProc(pid, 'status');
  const uid = /^Uid:\s+(\d+)/m.exec(status)?.[1];
  const gid = /^Gid:\s+(\d+)/m.exec(status)?.[1];
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** An engine may put the processes into one below the container's own. */
function upToContainer(cgroup: string, containerId: string): string {
  const parts = cgroup.split('/');
  return parts.slice(0, parts.findIndex((part) => part.includes(containerId)) + 1).join('/');
}

/** Where the v1 tree of a controller is mounted, or the v2 tree for null. */
function mountPoint(controller: string | null): string | null {
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [mount = '', fs = ''] = line.split(' - ');
    const [type, , options = ''] = fs.split(' ');
    const found =
      controller === null ? type === 'cgroup2' : type === 'cgroup' && hasOption(options, controller);
    if (found) return mount.split(' ')[4] ?? null;
  }
  return null;
}

function hasOption(options: string, name: string): boolean {
  return options.split(',').includes(name);
}

/** How often the kernel has ended a process in it for want of memory; null where it is gone. */
export function oomKills({ memory }: ContainerCgroup): number | null {
  for (const file of ['memory.events', 'memory.oom_control']) {
    try {
      const text = readFileSync(path.join(memory, file), 'latin1');
      return oomKillsIn(text);
    } catch {
      // the other version's name
    }
  }
  return null;
}

/** In the text of `memory.events` (v2) or `memory.oom_control` (v1). */
export function oomKillsIn(text: string): number | null {
  const count = /^oom_kill (\d+)$/m.exec(text)?.[1];
  return count === undefined ? null : Number(count);
}

/** Its living processes without the main one and what that runs of its own; null where it is gone. */
export function containerProcesses(cgroup: ContainerCgroup, ownCommand: string): ProcessStat[] | null {
  const pids = pidsIn(cgroup.processes);
  if (pids === null) return null;
  return pids.flatMap((pid) => {
    const stat = pid === cgroup.mainPid ? null : processStat(pid);
    if (!stat || !isAlive(stat)) return [];
    return stat.ppid === cgroup.mainPid && commandLine(pid) === ownCommand ? [] : [stat];
  });
}

function pidsIn(folder: string): number[] | null {
  try {
    const own = readFileSync(path.join(folder, 'cgroup.procs'), 'latin1')
      .split('\n')
      .filter(Boolean)
      .map(Number);
    const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...own, ...below.flatMap(({ name }) => pidsIn(path.join(folder, name)) ?? [])];
  } catch {
    return null;
  }
}

/** As words separated by spaces. */
function commandLine(pid: number): string {
  return readProc(pid, 'cmdline').split('\0').join(' ').trim();
}
