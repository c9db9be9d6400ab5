/** Cores and bytes of memory: what a host has, what jobs hold of it, what a job wants. */
export interface Capacity {
  readonly cpus: number;
  readonly memoryBytes: number;
}

export const NO_CAPACITY: Capacity = { cpus: 0, memoryBytes: 0 };

export function plus(a: Capacity, b: Capacity): Capacity {
  const cpus = (thousandths(a.cpus) + thousandths(b.cpus)) / 1000;
  return { cpus, memoryBytes: a.memoryBytes + b.memoryBytes };
}

export function minus(a: Capacity, b: Capacity): Capacity {
  const cpus = (thousandths(a.cpus) - thousandths(b.cpus)) / 1000;
  return { cpus, memoryBytes: a.memoryBytes - b.memoryBytes };
}

/** Of each the lesser. */
export function least(a: Capacity, b: Capacity): Capacity {
  return { cpus: Math.min(a.cpus, b.cpus), memoryBytes: Math.min(a.memoryBytes, b.memoryBytes) };
}

export function fits(wanted: Capacity, free: Capacity): boolean {
  return thousandths(wanted.cpus) <= thousandths(free.cpus) && wanted.memoryBytes <= free.memoryBytes;
}

/**
 * Cores are counted in thousandths, on both sides of the protocol, and what is less is dropped: tenths have no exact
 * binary form, and a host whose cores do not come back whole after a few jobs would never again take the job that
 * wants all of them. Three thirds fit, however many digits they are given.
 */
function thousandths(cpus: number): number {
  return Math.floor(cpus * 1000 + 1e-6);
}
