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

/** Pids in the cgroup. Zombies stay listed by no kernel: they are not members any more. */
export function cgroupMembers(dir: string): number[] {
  try {
    return readFileSync(path.join(dir, 'cgroup.procs'), 'latin1').split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Removes the empty cgroup; false where it is still populated. */
export function removeCgroup(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch {
    return !existsSync(dir);
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
