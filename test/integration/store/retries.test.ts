import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRun, Run } from '../../../src/server/store/store.ts';
import { newPipeline, newRun, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let rig: StoreRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
  await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: null });
});

afterEach(async () => cleanup.run());

const job = (key: string, change: Partial<NewRun> = {}) => newRun({ key, ...change });
const get = async (run: number | undefined) => (await rig.store.runs.get(run ?? 0)) as Run;
const retry = (pipeline: number, runs: readonly number[] | null = null) =>
  rig.store.runs.retry({ pipeline, runs });

/** The new pipeline and its runs. */
async function retried(pipeline: number, runs: readonly number[] | null = null) {
  const made = await retry(pipeline, runs);
  if (made === null || 'refused' in made) throw new Error(made?.refused ?? 'not there');
  return made;
}

async function refused(pipeline: number, runs: readonly number[] | null = null): Promise<string> {
  const made = await retry(pipeline, runs);
  if (made === null || !('refused' in made)) throw new Error('it was not refused');
  return made.refused;
}

/** What is claimable now, in order, each ended so. */
async function work(...results: ('passed' | 'failed')[]): Promise<number[]> {
  const done: number[] = [];
  for (const result of results) {
    const run = await rig.claimed();
    await rig.finish(run, result);
    done.push(run.run);
  }
  return done;
}

async function states(pipeline: number): Promise<string[]> {
  const runs = await rig.store.runs.list({ pipeline, limit: 100 });
  return runs.toReversed().map(({ key, state }) => `${key} ${state}`);
}

const BUILD_TEST_DEPLOY = [
  job('build'),
  job('test', { needs: ['build'] }),
  job('deploy', { needs: ['test', 'build'] }),
];

describe('a retry', () => {
  it('executes what failed and what needs it; what passed counts as passed', async () => {
    const [build, test, deploy] = await rig.queue('team/app', ...BUILD_TEST_DEPLOY);
    await work('passed', 'failed');
    const { pipeline, runs } = await retried(1, [test as number]);
    expect([pipeline, runs]).toEqual([2, [4, 5]]);
    expect(await states(2)).toEqual(['test queued', 'deploy queued']);
    expect(await work('passed', 'passed')).toEqual([4, 5]);
    expect(await states(2)).toEqual(['test passed', 'deploy passed']);
    expect([(await get(build)).state, (await get(test)).state, (await get(deploy)).state]).toEqual([
      'passed',
      'failed',
      'cancelled',
    ]);
  });

  it('holds a dependent back until what it needs has passed again, and ends it where that fails again', async () => {
    await rig.queue('team/app', ...BUILD_TEST_DEPLOY);
    await work('passed', 'failed');
    await retried(1);
    const test = await rig.claimed();
    expect(await rig.claim()).toBeNull();
    expect((await rig.store.runs.why(5))?.reasons).toEqual([
      { code: 'needs', text: 'it needs test (run 4, running)' },
    ]);
    await rig.finish(test, 'failed');
    expect((await get(5)).detail).toBe('it needs test (run 4), which ended failed');
  });

  it('of a retry is one more', async () => {
    await rig.queue('team/app', ...BUILD_TEST_DEPLOY);
    await work('passed', 'failed');
    await retried(1);
    await work('failed');
    expect(await retried(2)).toEqual({ pipeline: 3, runs: [6, 7] });
    await work('passed', 'passed');
    expect(await states(3)).toEqual(['test passed', 'deploy passed']);
    const { retryOf } = (await rig.store.runs.pipeline(3)) ?? {};
    expect([retryOf, (await get(6)).retryOf]).toEqual([2, 2]);
  });

  it('is of the same commit with the same jobs, byte for byte, and of no more trust', async () => {
    const made = job('test', {
      job: 'test (20)',
      labels: ['linux', 'big'],
      cpus: 2.5,
      memoryBytes: 99,
      serial: 'team/app deploy',
      retryLost: false,
      supersede: true,
      failFast: 'test',
    });
    const facts = { event: 'pull_request', ref: 'refs/pull/7/head', trust: 'untrusted' } as const;
    await rig.store.runs.createPipeline(newPipeline([made], facts));
    const first = await rig.claimed({ labels: ['linux', 'big'] });
    await rig.finish(first, 'failed');
    rig.clock.pass(5_000);
    const { runs } = await retried(1);
    const [before, after] = [await rig.store.runs.pipeline(1), await rig.store.runs.pipeline(2)];
    expect(after).toEqual({ ...before, id: 2, retryOf: 1, createdAt: rig.clock.now(), runs });
    const same =
      'lane, repository, key, job, kind, retry_lost, serial, needs, labels, cpus, memory_bytes, spec, prepared, supersede, fail_fast';
    const [original, copy] = rows(same);
    expect(copy).toEqual(original);
    expect(await get(runs[0])).toMatchObject({
      trust: 'untrusted',
      state: 'queued',
      attempt: 0,
      queuedAt: rig.clock.now(),
    });
    expect(await rig.claimed({ labels: ['linux', 'big'] })).toMatchObject({
      run: runs[0],
      attempt: 1,
      trust: 'untrusted',
    });
    expect((await get(first.run)).state).toBe('failed');
  });

  it('waits for its turn: behind what was received before it, of its serial key too', async () => {
    await rig.queue('team/app', job('deploy', { serial: 'k' }));
    await work('failed');
    const [newer] = await rig.queue('team/app', job('deploy', { serial: 'k' }));
    const { runs } = await retried(1);
    const first = await rig.claimed();
    expect(first.run).toBe(newer);
    expect((await rig.store.runs.why(runs[0] as number))?.reasons[0]?.code).toBe('serial');
    await rig.finish(first);
    expect((await rig.claimed()).run).toBe(runs[0]);
  });

  it('keeps to the cap of its repository, and wakes who waits for work', async () => {
    await rig.store.repositories.set('team/app', { maxJobs: 1 });
    await rig.queue('team/app', job('a'), job('b'));
    await work('failed', 'failed');
    const before = rig.leasable;
    await retried(1);
    expect(rig.leasable).toBeGreaterThan(before);
    await rig.claimed();
    expect(await rig.claim()).toBeNull();
  });

  it('of one entry of a matrix leaves those that passed alone, and fails fast among its own', async () => {
    const entry = (n: number) => job(`test (${n})`, { failFast: 'test' });
    await rig.queue(
      'team/app',
      entry(1),
      entry(2),
      entry(3),
      job('after', { needs: ['test (1)', 'test (2)', 'test (3)'] }),
    );
    await work('passed', 'failed');
    expect(await states(1)).toEqual([
      'test (1) passed',
      'test (2) failed',
      'test (3) cancelled',
      'after cancelled',
    ]);
    await retried(1, [2]);
    expect(await states(2)).toEqual(['test (2) queued', 'test (3) queued', 'after queued']);
    await work('failed');
    expect(await states(2)).toEqual(['test (2) failed', 'test (3) cancelled', 'after cancelled']);
    expect((await states(1))[0]).toBe('test (1) passed');
  });

  it('is ended by a newer push as any other, and ends nothing itself', async () => {
    const push = (supersedes: boolean) =>
      rig.store.runs.createPipeline(
        newPipeline([job('test', { supersede: true })], { event: 'push', supersedes }),
      );
    await push(true);
    await work('failed');
    await push(true);
    await retried(1);
    expect([await states(2), await states(3)]).toEqual([['test queued'], ['test queued']]);
    await push(true);
    expect((await get(3)).detail).toBe('superseded by pipeline 4');
    expect(await states(3)).toEqual(['test cancelled']);
  });

  it('is durable once it is answered', async () => {
    await rig.queue('team/app', ...BUILD_TEST_DEPLOY);
    await work('passed', 'failed');
    await retried(1);
    await rig.reopen();
    expect(await work('passed', 'passed')).toEqual([4, 5]);
  });
});

describe('a retry is refused', () => {
  it('while another of the same run has not ended, also where both are asked for at once', async () => {
    await rig.queue('team/app', job('test'));
    await work('failed');
    const both = await Promise.all([retry(1), retry(1)]);
    expect(both).toEqual([
      { pipeline: 2, runs: [2] },
      {
        refused: 'run 1 (test) is being retried already, as run 2: wait for that, or `vole cancel 2` before',
      },
    ]);
    await work('failed');
    await retried(2);
    // of the first again, while the retry of its retry waits
    expect(await refused(1)).toContain('as run 3:');
    await work('passed');
    expect(await retried(1)).toEqual({ pipeline: 4, runs: [4] });
  });

  it('where nothing is there to execute', async () => {
    expect(await retry(1)).toBeNull();
    const fault = '.vole.yml:1:1: no';
    await rig.store.runs.createPipeline(newPipeline([], { fault }));
    expect(await refused(1)).toMatch(/^pipeline 1 has no runs, its workflow file has a fault: /);
    await rig.queue('team/app', job('test'));
    expect(await refused(2)).toContain('has not ended, it is queued');
    await work('passed');
    expect(await refused(2, [1])).toContain('run 1 (test) passed');
    expect(await refused(1, [1])).toContain('no runs');
    expect(await rig.store.runs.list({ limit: 10 })).toHaveLength(1);
    expect(await rig.store.runs.pipeline(3)).toBeNull();
  });

  it('once the repository is gone, or another is registered by its name, which has other secrets', async () => {
    const { repositories } = rig.store;
    await rig.queue('team/app', job('test'));
    await work('failed');
    await repositories.remove('team/app');
    expect(await refused(1)).toContain('team/app is not registered any more');
    rig.clock.pass(1);
    await repositories.add({ name: 'team/app', cloneUrl: '/other', maxJobs: null });
    expect(await refused(1)).toContain('team/app was registered anew after pipeline 1');
  });
});

/** These columns of all runs, as they are stored. */
function rows(columns: string): unknown[] {
  const db = new Database(rig.file, { readonly: true });
  try {
    return db.prepare(`select ${columns} from runs order by id`).all();
  } finally {
    db.close();
  }
}
