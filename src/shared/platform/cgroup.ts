import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Cgroup v2 as jobs use it: one cgroup a job, so that `cgroup.kill` also ends what left the step's
 * process group by `setsid`. Works on the v2 tree of a hybrid host too: no controller is needed.
 */

/** This process's own directory in the v2 tree, or null where there is none. */
export function ownCgroup(): string | null {
  try {
    const mount = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((line) => line.includes(' - cgroup2 '));
    const own = readFileSync('/proc/self/cgroup', 'utf8')
      .split('\n')
      .find((line) => line.startsWith('0::'));
    const mountPoint = mount?.split(' ')[4];
    if (!mountPoint || !own) return null;
    return path.join(mountPoint, own.slice(3));
  } catch {
    return null;
  }
}

/** Makes the cgroup `name` beside nothing else under `parent`; null where that is not allowed. */
export function makeCgroup(parent: string, name: string): string | null {
  const dir = path.join(parent, name);
  try {
    mkdirSync(dir, { recursive: true });
    if (existsSync(path.join(dir, 'cgroup.kill'))) return dir;
    rmdirSync(dir);
    return null; // a kernel before 5.14
  } catch {
    return null;
  }
}

/** Ends every process in the cgroup; false where it is not there. */
export function killCgroup(dir: string): boolean {
  try {
    writeFileSync(path.join(dir, 'cgroup.kill'), '1');
    return true;
  } catch {
    return false;
  }
}

/** Whether a process is in the cgroup or in any below it, which a job may have made. */
export function cgroupPopulated(dir: string): boolean {
  return /^populated 1$/m.test(read(dir, 'cgroup.events'));
}

/** Pids in the cgroup and those below it. Zombies stay listed by no kernel: they are not members any more. */
export function cgroupMembers(dir: string): number[] {
  if (!cgroupPopulated(dir)) return [];
  const own = read(dir, 'cgroup.procs').split('\n').filter(Boolean).map(Number);
  return [...own, ...cgroupsIn(dir).flatMap((name) => cgroupMembers(path.join(dir, name)))];
}

/**
 * Whether a cgroup that was used is as one that was just made: nothing in it or below it, and none of
 * what its job could have set. Lets it run where it was frozen.
 */
export function cgroupAsNew(dir: string): boolean {
  if (cgroupsIn(dir).length > 0 || read(dir, 'cgroup.events') === '' || cgroupPopulated(dir)) return false;
  try {
    if (read(dir, 'cgroup.freeze').trim() !== '0') writeFileSync(path.join(dir, 'cgroup.freeze'), '0');
  } catch {
    return false;
  }
  const unset = (name: string): boolean => read(dir, name).trim() === 'max';
  return (
    read(dir, 'cgroup.type').trim() === 'domain' &&
    read(dir, 'cgroup.subtree_control').trim() === '' &&
    unset('cgroup.max.depth') &&
    unset('cgroup.max.descendants')
  );
}

/** Removes the cgroup and those below it; false where one is still populated. */
export function removeCgroup(dir: string): boolean {
  return removeFrom(Buffer.from(dir));
}

/** As bytes: a job may name them as it likes. */
function removeFrom(dir: Buffer): boolean {
  try {
    for (const entry of readdirSync(dir, { withFileTypes: true, encoding: 'buffer' })) {
      if (entry.isDirectory()) removeFrom(Buffer.concat([dir, Buffer.from('/'), entry.name]));
    }
    rmdirSync(dir);
    return true;
  } catch {
    return !existsSync(dir);
  }
}

/** One of the cgroup's files; empty where it is not there. */
function read(dir: string, file: string): string {
  try {
    return readFileSync(path.join(dir, file), 'latin1');
  } catch {
    return '';
  }
}

/** Names of the cgroups right below one. */
export function cgroupsIn(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}
