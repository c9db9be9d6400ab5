import type { NewRun } from './store.ts';

/**
 * The positions of the runs with each after those that it needs, else as given. Ids are handed out in this
 * order, and a serial key goes by ids: otherwise a run could hold back the one that it waits for.
 */
export function needsFirst(runs: readonly Pick<NewRun, 'key' | 'needs'>[]): number[] {
  const byKey = new Map<string, number>();
  for (const [at, { key }] of runs.entries()) {
    if (byKey.has(key)) throw new Error(`two runs of one pipeline have the key ${key}`);
    byKey.set(key, at);
  }
  const order: number[] = [];
  const states = new Map<number, 'open' | 'done'>();
  const visit = (at: number) => {
    const state = states.get(at);
    if (state === 'done') return;
    const { key, needs } = runs[at] as NewRun;
    if (state === 'open') throw new Error(`run ${key} needs itself`);
    states.set(at, 'open');
    for (const need of needs) {
      const needed = byKey.get(need);
      if (needed === undefined) throw new Error(`run ${key} needs ${need}, which is not in its pipeline`);
      visit(needed);
    }
    states.set(at, 'done');
    order.push(at);
  };
  for (const at of runs.keys()) visit(at);
  return order;
}
