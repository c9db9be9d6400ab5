import type { JobSpec } from '../../shared/job-spec.ts';

/** The cores and memory that the runs of one process may claim together. */
export class Resources {
  #cpus: number;
  #memoryBytes: number;

  constructor(cpus: number, memoryBytes: number) {
    this.#cpus = cpus;
    this.#memoryBytes = memoryBytes;
  }

  free(): { freeCpus: number; freeMemoryBytes: number } {
    return { freeCpus: this.#cpus, freeMemoryBytes: this.#memoryBytes };
  }

  /** Claims what the job says it takes; null where it does not fit. Returns what gives it back, once. */
  take(spec: Pick<JobSpec, 'cpus' | 'memoryBytes'>): (() => void) | null {
    if (spec.cpus > this.#cpus || spec.memoryBytes > this.#memoryBytes) return null;
    this.#cpus -= spec.cpus;
    this.#memoryBytes -= spec.memoryBytes;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#cpus += spec.cpus;
      this.#memoryBytes += spec.memoryBytes;
    };
  }
}
