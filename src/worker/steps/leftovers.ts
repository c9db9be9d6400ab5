import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cgroupMembers, cgroupPopulated, killCgroup } from '../../shared/platform/cgroup.ts';
import { KilledProcesses } from '../../shared/platform/killed-processes.ts';
import {
  groupMembers,
  type ProcessStat,
  signalGroup,
  youngerProcessesWithEnv,
} from '../../shared/platform/processes.ts';

const GONE_MS = 5_000;
/**
 * When a step joins the job's cgroup. Moving a process waits for a grace period of the kernel's RCU, 10
 * to 20 ms: steps of a fraction of a second would spend more on it than on their work.
 */
const JOIN_AFTER_MS = 1_000;
/** Processes that were forked while their parents were moved are found by looking again. */
const JOIN_ROUNDS = 5;

/**
 * The processes of one step, and how all of them are found again: its process group; the job's cgroup,
 * which a step joins once it has run for a moment; and the marker in the environment, for what had left
 * the group before. Only what leaves the group in the first moment with a cleaned environment gets away.
 */
export class StepProcesses {
  readonly #pgid: number;
  readonly #cgroup: string | null;
  readonly #marker: string;
  #joining: NodeJS.Timeout | null = null;
  #joined = false;
  readonly #killed = new KilledProcesses();

  /** `onJoin`: called before the first process is moved. */
  constructor(pgid: number, cgroup: string | null, marker: string, onJoin: () => void) {
    this.#pgid = pgid;
    this.#cgroup = cgroup;
    this.#marker = marker;
    if (!cgroup) return;
    this.#joining = setTimeout(() => {
      onJoin();
      void this.#join(cgroup);
    }, JOIN_AFTER_MS);
  }

  terminate(): void {
    signalGroup(this.#pgid, 'SIGTERM');
  }

  kill(): void {
    signalGroup(this.#pgid, 'SIGKILL');
    if (this.#cgroup && this.#joined) killCgroup(this.#cgroup);
  }

  /** Waits until the group has ended by itself, or `giveUp` has come. */
  async groupEnded(giveUp: Promise<void>): Promise<void> {
    const gaveUp = giveUp.then(() => true);
    for (let waitMs = 5; groupMembers(this.#pgid).length > 0; waitMs = Math.min(100, waitMs * 2)) {
      if (await Promise.race([gaveUp, delay(waitMs, false)])) return;
    }
  }

  /**
   * Ends what the step left running and waits until it is gone. Gives a line for each process that had
   * left the group where there is no cgroup: there a determined one can get away, so people are told.
   */
  async endLeftovers(): Promise<string[]> {
    if (this.#joining) clearTimeout(this.#joining);
    this.#joining = null;
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
    if (this.#cgroup && this.#joined && cgroupPopulated(this.#cgroup)) {
      left = true;
      killCgroup(this.#cgroup);
    }
    for (const stray of this.#strays()) {
      left = true;
      if (stray.pgid !== this.#pgid && !this.#cgroup) {
        const line = `ended process ${stray.pid}, which had left the step's process group`;
        if (!found.includes(line)) found.push(line);
      }
      this.#killed.kill(stray);
    }
    return left || this.#killed.anyAlive;
  }

  #strays(): ProcessStat[] {
    return youngerProcessesWithEnv(this.#pgid, 'VOLE_JOB_MARKER', this.#marker);
  }

  /** Moves what there is of the step, and what is forked meanwhile; its later children inherit it. */
  async #join(cgroup: string): Promise<void> {
    const file = path.join(cgroup, 'cgroup.procs');
    this.#joined = true;
    for (let round = 0; round < JOIN_ROUNDS && this.#joining; round++) {
      const inside = new Set(cgroupMembers(cgroup));
      const all = [...groupMembers(this.#pgid), ...this.#strays()].map(({ pid }) => pid);
      const outside = [...new Set(all)].filter((pid) => !inside.has(pid));
      if (outside.length === 0) return;
      // One that has ended, or a cgroup that may not be written: the other two ways still find it.
      for (const pid of outside) await writeFile(file, String(pid)).catch(() => {});
    }
  }
}
