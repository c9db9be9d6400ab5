import { type Capacity, fits, minus, plus } from '../../shared/capacity.ts';

/** The cores and memory that the runs of one process may claim together. */
export class Resources {
  #free: Capacity;

  constructor(cpus: number, memoryBytes: number) {
    this.#free = { cpus, memoryBytes };
  }

  free(): { freeCpus: number; freeMemoryBytes: number } {
    return { freeCpus: this.#free.cpus, freeMemoryBytes: this.#free.memoryBytes };
  }

  /** Claims what the job says it takes; null where it does not fit. Returns what gives it back, once. */
  take({ cpus, memoryBytes }: Capacity): (() => void) | null {
    const wanted = { cpus, memoryBytes };
    if (!fits(wanted, this.#free)) return null;
    this.#free = minus(this.#free, wanted);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#free = plus(this.#free, wanted);
    };
  }
}
