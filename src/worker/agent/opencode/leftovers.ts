import { setTimeout as delay } from 'node:timers/promises';
import type { AgentNamespace } from '../../../shared/agent/access.ts';
import { cgroupPopulated, killCgroup } from '../../../shared/platform/cgroup.ts';
import { KilledProcesses } from '../../../shared/platform/killed-processes.ts';
import {
  type ProcessStat,
  processesWithEnv,
  processesWorkingIn,
  processName,
  withDescendants,
} from '../../../shared/platform/processes.ts';
import { straysOf } from './strays.ts';

export interface RunProcesses {
  /** Of the run, in the environment of what the agent's commands start. */
  readonly marker: string;
  /** The run's tree: what works in it and is not the runner's own is the agent's. */
  readonly tree: string;
  /** That the agent's commands join; null where there is none. */
  readonly cgroup: string | null;
}

const GONE_MS = 5_000;

/**
 * Ends whatever the run's commands have left running and waits until it is gone. What has cleaned its
 * environment, left its group and its parent and gone elsewhere is still in the cgroup, and one that has left
 * that too in the server's pid namespace. Only where the runner may make neither does such a one get away.
 * Gives a line for each process.
 */
export async function endLeftovers(run: RunProcesses, namespace: AgentNamespace | null): Promise<string[]> {
  const lines = new Map<number, string>();
  const deadline = performance.now() + GONE_MS;
  const killed = new KilledProcesses();
  for (let waitMs = 1; ; waitMs = Math.min(50, waitMs * 2)) {
    const left = leftOf(run, namespace);
    for (const { pid } of left) {
      if (!lines.has(pid))
        lines.set(pid, `ended process ${pid} (${processName(pid)}), which the agent had left`);
    }
    for (const stat of left) killed.kill(stat);
    const inCgroup = run.cgroup !== null && cgroupPopulated(run.cgroup);
    if (run.cgroup !== null && inCgroup) killCgroup(run.cgroup);
    if (!killed.anyAlive && !inCgroup) return [...lines.values()];
    if (performance.now() > deadline) return [...lines.values(), 'processes of the agent withstand KILL'];
    await delay(waitMs);
  }
}

function leftOf(run: RunProcesses, namespace: AgentNamespace | null): ProcessStat[] {
  const { marker, tree } = run;
  const marked = processesWithEnv('VOLE_JOB_MARKER', marker);
  // The runner's own commands, such as git, are its children and work there too.
  const here = processesWorkingIn(tree).filter(
    ({ pid, ppid }) => pid !== process.pid && ppid !== process.pid,
  );
  const strays = namespace === null ? [] : straysOf(namespace, run);
  return withDescendants([...marked, ...here, ...strays]);
}
