import { cgroupAsNew, makeCgroup, removeCgroup } from '../../shared/platform/cgroup.ts';

/** The folder of a process's job cgroups; a sweep knows by it whose they are. */
export function cgroupName(directory: string, process: string): string {
  return `vole-${directory}-${process}`;
}

/**
 * The cgroups of a process's jobs. Making and removing one waits for the kernel as joining does, so
 * each is used again by a later job once it is empty, and there are never more than jobs at once.
 */
export class JobCgroups {
  readonly #parent: string | null;
  readonly #name: string;
  readonly #free: string[] = [];
  readonly #all: string[] = [];
  #folder: string | null | undefined;

  /** `parent`: the cgroup that this process is in; null where there is no cgroup v2. */
  constructor(parent: string | null, name: string) {
    this.#parent = parent;
    this.#name = name;
  }

  /** An empty cgroup for one job, or null where none may be made. */
  take(): string | null {
    const free = this.#free.pop();
    if (free) return free;
    this.#folder ??= this.#parent && makeCgroup(this.#parent, this.#name);
    const made = this.#folder && makeCgroup(this.#folder, `job-${this.#all.length}`);
    if (made) this.#all.push(made);
    return made ?? null;
  }

  /**
   * The job's processes are gone. One that is not empty is never used again, nor one that the job has
   * changed, as root may: the next job's processes would be frozen or hidden in it. `joined`: whether the
   * job was ever in it; looking costs as much as the rest of a short job.
   */
  give(cgroup: string | null, joined: boolean): void {
    if (!cgroup) return;
    if (!joined || cgroupAsNew(cgroup)) this.#free.push(cgroup);
    else removeCgroup(cgroup);
  }

  close(): void {
    for (const cgroup of this.#all) removeCgroup(cgroup);
    if (this.#folder) removeCgroup(this.#folder);
    this.#all.length = 0;
    this.#free.length = 0;
  }
}
