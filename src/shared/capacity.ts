/** Cores and bytes of memory: what a host has, what jobs hold of it, what a job wants. */
export interface Capacity {
  readonly cpus: number;
  readonly memoryBytes: number;
}

export const NO_CAPACITY: Capacity = { cpus: 0, memoryBytes: 0 };

export function plus(a: Capacity, b: Capacity): Capacity {
  return { cpus: exact(a.cpus + b.cpus), memoryBytes: a.memoryBytes + b.memoryBytes };
}

export function minus(a: Capacity, b: Capacity): Capacity {
  return { cpus: exact(a.cpus - b.cpus), memoryBytes: a.memoryBytes - b.memoryBytes };
}

/** Of each the lesser. */
export function least(a: Capacity, b: Capacity): Capacity {
  return { cpus: Math.min(a.cpus, b.cpus), memoryBytes: Math.min(a.memoryBytes, b.memoryBytes) };
}

export function fits(wanted: Capacity, free: Capacity): boolean {
  return exact(wanted.cpus) <= exact(free.cpus) && wanted.memoryBytes <= free.memoryBytes;
}

/**
 * To a thousandth: tenths of a core have no exact binary form, and a host whose cores do not come back whole
 * after a few jobs would never again take the job that wants all of them.
 */
function exact(cpus: number): number {
  return Math.round(cpus * 1000) / 1000;
}
