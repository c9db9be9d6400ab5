import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { pidNamespace, pidNamespaceIsGone } from '../../src/shared/platform/processes.ts';
import { IN_PID_NAMESPACE, programOf } from './lock-children.ts';
import type { Cleanup } from './temp.ts';
import { until } from './until.ts';

/** A pid namespace of this boot that is not this process's and is not known to be gone; null where this user can make none. */
export async function otherPidNamespace(cleanup: Cleanup): Promise<string | null> {
  const [program, ...args] = [...IN_PID_NAMESPACE, 'sleep', '1000'];
  const child = spawn(program, args, { stdio: 'ignore' });
  let failed = false;
  child.on('error', () => (failed = true));
  child.on('exit', () => (failed = true));
  cleanup.defer(() => void child.kill('SIGKILL'));
  const made = await until('a process in it', () => {
    if (failed) return { namespace: null };
    try {
      const namespace = readlinkSync(`/proc/${programOf(child, true)}/ns/pid`);
      return namespace !== pidNamespace() && { namespace };
    } catch {
      return null;
    }
  });
  // From within another than the first, none is ever known to be gone.
  return made.namespace ?? (pidNamespaceIsGone('pid:[1]') ? null : 'pid:[1]');
}
