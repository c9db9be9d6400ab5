import { setTimeout as delay } from 'node:timers/promises';
import { cgroupPopulated, killCgroup } from '../../shared/platform/cgroup.ts';
import { KilledProcesses } from '../../shared/platform/killed-processes.ts';
import { groupMembers, processesWithEnv, signalGroup } from '../../shared/platform/processes.ts';

/** Variable that marks every process of a run, see `WorkerTask.marker`. */
export const MARKER_ENV = 'VOLE_JOB_MARKER';

/**
 * The processes of one run, as the worker thread announces them. A thread that dies leaves them
 * running, so the main thread ends them itself and only then lets the run's guards go.
 */
export class ProcessesOfRun {
  readonly #marker: string;
  readonly #cgroup: string | null;
  readonly #groups = new Set<number>();
  #joined = false;
  readonly #killed = new KilledProcesses();

  constructor(marker: string, cgroup: string | null) {
    this.#marker = marker;
    this.#cgroup = cgroup;
  }

  announced(pgid: number): void {
    this.#groups.add(pgid);
  }

  cgroupJoined(): void {
    this.#joined = true;
  }

  /** Whether any of them was ever in the cgroup. */
  get joinedCgroup(): boolean {
    return this.#joined;
  }

  gone(pgid: number): void {
    this.#groups.delete(pgid);
  }

  /** Sends KILL to all that is known, at once. */
  kill(): void {
    for (const pgid of this.#groups) signalGroup(pgid, 'SIGKILL');
    if (this.#cgroup && this.#joined) killCgroup(this.#cgroup);
  }

  /**
   * Ends what is left and waits until it is gone, zombies counted as gone; false where something
   * withstands KILL for `boundMs`. `unannounced`: some may have been started that nobody could announce
   * any more, so the marker is looked for in the environment of every process.
   */
  async end(options: { unannounced: boolean; boundMs: number }): Promise<boolean> {
    const deadline = performance.now() + options.boundMs;
    for (let waitMs = 1; ; waitMs = Math.min(50, waitMs * 2)) {
      if (!this.#killLeft(options.unannounced)) break;
      if (performance.now() > deadline) return false;
      await delay(waitMs);
    }
    return true;
  }

  /** KILL to everything that lives; whether anything did. */
  #killLeft(unannounced: boolean): boolean {
    let left = false;
    for (const pgid of this.#groups) {
      if (groupMembers(pgid).length === 0) continue;
      left = true;
      signalGroup(pgid, 'SIGKILL');
    }
    if (this.#cgroup && this.#joined && cgroupPopulated(this.#cgroup)) {
      left = true;
      killCgroup(this.#cgroup);
    }
    if (!unannounced) return left;
    for (const stray of processesWithEnv(MARKER_ENV, this.#marker)) {
      left = true;
      if (stray.pgid === stray.pid) signalGroup(stray.pgid, 'SIGKILL');
      this.#killed.kill(stray);
    }
    return left || this.#killed.anyAlive;
  }
}
