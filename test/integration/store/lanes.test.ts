import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRun } from '../../../src/server/store/store.ts';
import { minus } from '../../../src/shared/capacity.ts';
import { lanesOf } from '../../support/lane-checker.ts';
import { leases, naiveClaim } from '../../support/naive-queue.ts';
import { Random } from '../../support/random.ts';
import { aClaim, LEASE_MS, newRun, outcome, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';

const REPOSITORIES = ['team/a', 'team/b', 'other/c'];
const STEPS = 250;
/** Of two processes, and one that is of none. */
const SESSIONS = ['p1-a', 'p1-b', 'p2-c', 's'];

let cleanup: Cleanup;
let rig: StoreRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
  leases.clear();
});

afterEach(async () => cleanup.run());

function someRuns(random: Random): NewRun[] {
  const keys: string[] = [];
  return Array.from({ length: 1 + random.below(5) }, (_, at) => {
    const needs = keys.filter(() => random.chance(25));
    const key = `job-${at}`;
    keys.push(key);
    return newRun({
      key,
      needs,
      labels: random.of([[], ['x'], ['y', 'x'], ['x', 'y']]),
      cpus: random.of([1, 2, 0.5]),
      memoryBytes: random.of([0, 1000]),
      serial: random.chance(30) ? random.of(['k', 'l']) : null,
      retryLost: random.chance(70),
      kind: random.chance(20) ? 'command' : 'job',
      state: random.chance(15) ? 'received' : 'queued',
    });
  });
}

/** Works on the store as servers and runners do, in any order, and compares each claim with the naive one. */
class Walk {
  readonly caps = new Map<string, number | null>();
  claims = 0;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  async step(): Promise<void> {
    const { runs, repositories } = rig.store;
    const random = this.#random;
    const all = await runs.list({ limit: 10_000 });
    const running = all.filter(({ state }) => state === 'running');
    const some = all.length > 0 ? random.of(all) : null;
    const held = running.length > 0 ? random.of(running) : null;
    rig.clock.pass(random.below(5_000));
    switch (random.below(12)) {
      case 0:
      case 1:
        await rig.queue(random.of(REPOSITORIES), ...someRuns(random));
        return;
      case 2: {
        const [name, maxJobs] = [random.of(REPOSITORIES), random.of([null, 1, 2, 3])];
        if (!(await repositories.set(name, { maxJobs })))
          await repositories.add({ name, cloneUrl: '/x', maxJobs });
        this.caps.set(name, maxJobs);
        return;
      }
      case 3:
        if (some) await runs.authorise(some.id, random.chance(70), 'may not');
        return;
      case 4:
        if (some && random.chance(40)) await runs.cancel(some.id, 'not wanted');
        return;
      case 5:
        await runs.sessionEnded(random.of(SESSIONS));
        return;
      case 6:
        if (random.chance(20)) rig.clock.pass(LEASE_MS / 2);
        await runs.expire();
        return;
      case 7:
        if (held) await runs.heartbeat('build1', held.id, held.attempt, LEASE_MS);
        return;
      case 8:
      case 9:
        if (held) await this.#report(held.id, held.attempt);
        return;
      default:
        await this.#claim();
    }
  }

  async #report(run: number, attempt: number): Promise<void> {
    const result = this.#random.of(['passed', 'passed', 'failed', 'interrupted', 'lost', 'refused'] as const);
    await rig.store.runs.record('build1', run, attempt, outcome(result), 0);
  }

  async #claim(): Promise<void> {
    const random = this.#random;
    const claim = aClaim({
      session: random.of(SESSIONS),
      labels: random.of([[], ['x'], ['x', 'y', 'z']]),
      repos: random.of([[], [], ['team/*'], ['no/*', 'other/c']]),
      freeCpus: random.of([0.5, 1, 8]),
      freeMemoryBytes: random.of([0, 5_000]),
      ...(random.chance(50) ? { free: (held) => minus({ cpus: 3, memoryBytes: 3_000 }, held) } : {}),
      ...(random.chance(10) && leases.size > 0 ? { key: random.of([...leases.values()]).key } : {}),
    });
    const wanted = naiveClaim(await rig.store.runs.list({ limit: 10_000 }), this.caps, claim);
    const claimed = await rig.store.runs.claim(claim);
    expect(claimed?.run ?? null).toBe(wanted);
    if (!claimed) return;
    leases.set(claimed.run, claim);
    this.claims += 1;
  }
}

describe('the lanes', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'stay true, and every claim is the one of the rules (seed %i)',
    async (seed) => {
      const walk = new Walk(new Random(seed));
      for (let at = 0; at < STEPS; at += 1) {
        await walk.step();
        const { kept, computed, ready } = lanesOf(rig.file);
        expect(kept).toEqual(computed);
        expect(ready).toEqual([]);
      }
      expect(walk.claims).toBeGreaterThan(15);
    },
  );
});
