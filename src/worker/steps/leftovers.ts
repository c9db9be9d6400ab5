import { setTimeout as delay } from 'node:timers/promises';
import { cgroupMembers, killCgroup } from '../../shared/platform/cgroup.ts';
import {
  groupMembers,
  processesWithEnv,
  signalGroup,
  signalProcess,
} from '../../shared/platform/processes.ts';

const GONE_MS = 5_000;

/** The processes of one step: its group, and on Linux with cgroup v2 whatever left the group. */
export class StepProcesses {
  readonly #pgid: number;
  readonly #cgroup: string | null;
  readonly #marker: string;

  constructor(pgid: number, cgroup: string | null, marker: string) {
    this.#pgid = pgid;
    this.#cgroup = cgroup;
    this.#marker = marker;
  }

  terminate(): void {
    signalGroup(this.#pgid, 'SIGTERM');
  }

  kill(): void {
    signalGroup(this.#pgid, 'SIGKILL');
    if (this.#cgroup) killCgroup(this.#cgroup);
  }

  /**
   * Ends what the step left running and waits until it is gone. Gives a line for each process that had
   * left the group where there is no cgroup: there a determined one can get away, so people are told.
   */
  async endLeftovers(): Promise<string[]> {
    const found: string[] = [];
    const deadline = performance.now() + GONE_MS;
    for (let waitMs = 1; performance.now() < deadline; waitMs = Math.min(50, waitMs * 2)) {
      if (!this.#killLeft(found)) return found;
      await delay(waitMs);
    }
    return [...found, `processes of this step withstand KILL (group ${this.#pgid})`];
  }

  #killLeft(found: string[]): boolean {
    // A group of nothing but zombies still takes signals: look before believing that it lives.
    let left = signalGroup(this.#pgid, 'SIGKILL') && groupMembers(this.#pgid).length > 0;
    if (this.#cgroup) {
      if (cgroupMembers(this.#cgroup).length > 0) left = killCgroup(this.#cgroup) || left;
      return left;
    }
    for (const stray of processesWithEnv('VOLE_JOB_MARKER', this.#marker)) {
      left = true;
      if (stray.pgid !== this.#pgid) {
        const line = `ended process ${stray.pid}, which had left the step's process group`;
        if (!found.includes(line)) found.push(line);
      }
      signalProcess(stray.pid, 'SIGKILL');
    }
    return left;
  }
}
