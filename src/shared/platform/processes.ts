import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** One process as `/proc/PID/stat` shows it. */
export interface ProcessStat {
  readonly pid: number;
  /** `Z` is a zombie: its thread in vole may be gone and nobody reaps it, so it counts as gone. */
  readonly state: string;
  readonly ppid: number;
  readonly pgid: number;
  /** Field 22, clock ticks since boot: with the boot id it makes a pid unique. */
  readonly start: string;
}

/** Null where there is no such process (or no `/proc`). */
export function processStat(pid: number): ProcessStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return null;
  }
}

/** The command name is in parentheses and may itself hold spaces and parentheses: split after the last. */
export function parseStat(text: string): ProcessStat | null {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < open) return null;
  const rest = text.slice(close + 2).split(' ');
  const [state = '', ppid = '', pgid = ''] = rest;
  const start = rest[19];
  if (start === undefined) return null;
  return {
    pid: Number(text.slice(0, open)),
    state,
    ppid: Number(ppid),
    pgid: Number(pgid),
    start: start.trim(),
  };
}

export function isAlive(stat: Pick<ProcessStat, 'state'> | null): boolean {
  return stat !== null && stat.state !== 'Z' && stat.state !== 'X';
}

/** Whether the process that had this pid and start time still runs. A reused pid has another start. */
export function sameProcessAlive(pid: number, start: string): boolean {
  const stat = processStat(pid);
  return isAlive(stat) && stat?.start === start;
}

function allProcesses(): ProcessStat[] {
  const found: ProcessStat[] = [];
  for (const pid of allPids()) {
    const stat = processStat(pid);
    if (stat) found.push(stat);
  }
  return found;
}

/** Parent of the kernel's own threads. */
const KTHREADD = 2;
/** Up to so many pids are asked for one by one, instead of listing every process of the host. */
const MOST_ASKED = 24;
/** One that forks and ends while others are asked for leaves a child of a later number. */
const MOST_ROUNDS = 4;
/** How often a process that may be in its exec is looked at again, a millisecond apart. */
const EXEC_LOOKS = 20;

/** Living members of a process group; zombies are left out. */
export function groupMembers(pgid: number): ProcessStat[] {
  return allProcesses().filter((stat) => stat.pgid === pgid && isAlive(stat));
}

/** Living processes whose environment, as it was at their exec, has exactly this entry. */
export function processesWithEnv(name: string, value: string): ProcessStat[] {
  return withEnv(allPids(), `${name}=${value}\0`);
}

/** The same, where the value begins so. */
export function processesWithEnvPrefix(name: string, prefix: string): ProcessStat[] {
  return withEnv(allPids(), `${name}=${prefix}`);
}

/**
 * The same, of processes that are younger than one: after a step only what it can have made is looked
 * at, which on a busy host is a small part. Pids only grow until they wrap; then all are looked at.
 */
export function youngerProcessesWithEnv(thanPid: number, name: string, value: string): ProcessStat[] {
  const found: ProcessStat[] = [];
  let seen = thanPid;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const last = lastPid();
    if (last === seen) break; // nothing at all was forked since
    found.push(...withEnv(pidsBetween(seen, last), `${name}=${value}\0`));
    if (last < seen) break; // they have wrapped: that was all of them
    seen = last;
  }
  return found;
}

/** Of processes that were made after one, up to the last. */
function pidsBetween(first: number, last: number): number[] {
  if (last < first) return allPids(); // they have wrapped
  if (last - first > MOST_ASKED) return allPids().filter((pid) => pid > first);
  return Array.from({ length: last - first }, (_, at) => first + 1 + at).filter(isProcess);
}

/** Threads have numbers of the same kind. */
function isProcess(pid: number): boolean {
  // Asked first, since an error costs more than to look.
  if (!existsSync(`/proc/${pid}`)) return false;
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1').includes(`\nTgid:\t${pid}\n`);
  } catch {
    return false;
  }
}

function withEnv(pids: readonly number[], entry: string): ProcessStat[] {
  const found: ProcessStat[] = [];
  for (const pid of pids) {
    if (pid === process.pid) continue;
    try {
      const environ = environOf(pid);
      if (!environ.startsWith(entry) && !environ.includes(`\0${entry}`)) continue;
    } catch {
      continue; // ended meanwhile, or another user's
    }
    const stat = processStat(pid);
    if (stat && isAlive(stat)) found.push(stat);
  }
  return found;
}

/**
 * In the middle of its exec a process shows neither environment nor command line, for some microseconds
 * mostly. Such a one is looked at again, or a child that was just spawned would be taken for another's.
 */
function environOf(pid: number): string {
  for (let look = 0; ; look++) {
    const environ = readFileSync(`/proc/${pid}/environ`, 'latin1');
    if (environ !== '' || look === EXEC_LOOKS || !mayBeInExec(pid)) return environ;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }
}

/** A kernel thread and a zombie show neither as well. */
function mayBeInExec(pid: number): boolean {
  if (readFileSync(`/proc/${pid}/cmdline`, 'latin1') !== '') return false;
  const stat = processStat(pid);
  return stat !== null && isAlive(stat) && stat.ppid !== KTHREADD && stat.ppid !== 0;
}

function allPids(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** The pid given out last in this pid namespace. */
function lastPid(): number {
  return Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1));
}

/** Signals a group; false where nothing is left of it or it may not be signalled. */
export function signalGroup(pgid: number, signal: NodeJS.Signals): boolean {
  if (pgid <= 1) return false;
  try {
    process.kill(-pgid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Signals one process; false where it is gone or may not be signalled. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

let bootIdRead: string | undefined;

/** Random for each boot of this kernel; the same in every container on it. */
export function bootId(): string {
  bootIdRead ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return bootIdRead;
}

/** Such as `pid:[4026531836]`: processes of another pid namespace cannot be looked up from here. */
export function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid');
}

/** The kernel's own number of the pid namespace that all others are below, and that sees every process. */
const FIRST_PID_NAMESPACE = 'pid:[4026531836]';

/**
 * Whether no process is left in a pid namespace. False where that cannot be known: from within another
 * one than the first, or where a process of some other one may not be looked at.
 */
export function pidNamespaceIsGone(namespace: string): boolean {
  if (pidNamespace() !== FIRST_PID_NAMESPACE) return false;
  return allPids().every((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/ns/pid`) !== namespace;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const hasEnded = code === 'ENOENT' || code === 'ESRCH';
      return hasEnded || isInFirstNamespace(pid);
    }
  });
}

/** By its pids, which anybody may read: one for each namespace that it is in. As seen from the first. */
function isInFirstNamespace(pid: number): boolean {
  try {
    const pids = /^NSpid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return pids !== undefined && !pids.includes('\t');
  } catch {
    return true; // it has ended
  }
}

/** Living processes in a pid namespace, and not in one below it. */
export function inPidNamespace(namespace: string): ProcessStat[] {
  return allProcesses().filter(({ pid, state }) => {
    try {
      return readlinkSync(`/proc/${pid}/ns/pid`) === namespace && isAlive({ state });
    } catch {
      return false; // ended meanwhile, or another user's
    }
  });
}

/** Living processes whose working directory is a folder or below it. */
export function processesWorkingIn(folder: string): ProcessStat[] {
  return allProcesses().filter(({ pid, state }) => {
    try {
      const cwd = readlinkSync(`/proc/${pid}/cwd`);
      return (cwd === folder || cwd.startsWith(`${folder}/`)) && isAlive({ state });
    } catch {
      return false; // ended meanwhile, or another user's
    }
  });
}

/** These, and what they have started and what that has, as far as it lives. */
export function withDescendants(roots: readonly ProcessStat[]): ProcessStat[] {
  const all = allProcesses().filter(isAlive);
  const found = new Map(roots.map((root) => [root.pid, root]));
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const stat of all) if (found.has(stat.ppid)) found.set(stat.pid, stat);
  }
  return [...found.values()];
}

/** Value of a variable in its environment as it was at its exec; null where it has none, or is gone. */
export function envOf(pid: number, name: string): string | null {
  try {
    const entry = environOf(pid)
      .split('\0')
      .find((line) => line.startsWith(`${name}=`));
    return entry?.slice(name.length + 1) ?? null;
  } catch {
    return null;
  }
}

/** Its name as the kernel has it, at most 15 characters; empty where it is gone. */
export function processName(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'latin1').trim();
  } catch {
    return '';
  }
}
