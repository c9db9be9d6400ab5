import { describe, expect, it } from 'vitest';
import { Resources } from '../../../../src/runner/slots/resources.ts';

describe('the cores and memory of a process', () => {
  it('are claimed by a job and given back once', () => {
    const resources = new Resources(4, 100);
    const release = resources.take({ cpus: 3, memoryBytes: 60 });
    expect(resources.free()).toEqual({ freeCpus: 1, freeMemoryBytes: 40 });
    release?.();
    release?.();
    expect(resources.free()).toEqual({ freeCpus: 4, freeMemoryBytes: 100 });
  });

  it('refuse a job that does not fit and keep what they have', () => {
    const resources = new Resources(2, 100);
    expect(resources.take({ cpus: 3, memoryBytes: 0 })).toBeNull();
    expect(resources.take({ cpus: 1, memoryBytes: 101 })).toBeNull();
    expect(resources.free()).toEqual({ freeCpus: 2, freeMemoryBytes: 100 });
  });

  it('are whole again after jobs of tenths of a core, in whichever order they end', () => {
    const resources = new Resources(1, 0);
    const tenth = resources.take({ cpus: 0.1, memoryBytes: 0 });
    const rest = resources.take({ cpus: 0.7, memoryBytes: 0 });
    expect(resources.take({ cpus: 0.2, memoryBytes: 0 })).not.toBeNull();
    tenth?.();
    rest?.();
    expect(resources.free().freeCpus).toBe(0.8);
  });

  it('take three thirds, however many digits they are given', () => {
    const resources = new Resources(2, 0);
    const third = { cpus: 0.666667, memoryBytes: 0 };
    const taken = [1, 2, 3, 4].map(() => resources.take(third));
    expect(taken.map(Boolean)).toEqual([true, true, true, false]);
    for (const release of taken) release?.();
    expect(resources.free().freeCpus).toBe(2);
  });
});
