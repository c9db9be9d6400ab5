import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

export function childFile(name: string): string {
  return path.resolve(import.meta.dirname, `../../dist/test/${name}.js`);
}

/** Whether this user may make pid namespaces, as the tests of containers need. */
export const IN_PID_NAMESPACE = ['unshare', '-pf', '--mount-proc', '--kill-child'] as const;

/** Of what `unshare` started, seen from here; of the child itself where there is no namespace between. */
export function programOf(child: ChildProcess, inNamespace: boolean): number {
  const pid = child.pid ?? 0;
  if (!inNamespace) return pid;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
  return Number(children.trim().split(' ')[0]);
}
