import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRun } from '../../../src/server/store/store.ts';
import { LEASE_MS, newPipeline, newRun, outcome, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let rig: StoreRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
});

afterEach(async () => cleanup.run());

async function one(change: Parameters<typeof newRun>[0] = {}): Promise<number> {
  const [run] = await rig.queue('team/app', newRun(change));
  return run as number;
}

describe('a record', () => {
  it('ends the run with all that was reported', async () => {
    const run = await one();
    const claimed = await rig.claimed();
    rig.clock.pass(1_000);
    const step = {
      name: 'test',
      result: 'failed',
      exitCode: 3,
      signal: null,
      reason: 'exit',
      detail: 'exit 3',
      durationMs: 7,
    } as const;
    const report = outcome('failed', { detail: 'test: exit 3', steps: [step] });
    await expect(rig.store.runs.record('build1', run, claimed.attempt, report, 42)).resolves.toEqual({
      ok: true,
      cancelWhy: null,
    });
    expect(await rig.store.runs.get(run)).toMatchObject({
      state: 'failed',
      reason: 'exit',
      detail: 'test: exit 3',
      steps: [step],
      logLength: 42,
      account: 'build1',
      machine: 'host1',
      endedAt: rig.clock.now(),
      leaseUntil: null,
    });
  });

  it('of an old attempt is stale and changes nothing, also from the account of the new one', async () => {
    const run = await one();
    await rig.claimed();
    await rig.store.runs.heartbeat('build1', run, 1, LEASE_MS);
    rig.clock.pass(LEASE_MS);
    await rig.store.runs.expire();
    const second = await rig.claimed();
    expect(second).toMatchObject({ run, attempt: 2 });
    const before = await rig.store.runs.get(run);
    const stale = await rig.store.runs.record('build1', run, 1, outcome('passed'), 9);
    expect(stale).toEqual({ ok: false, why: 'attempt 1 is over: the run is at attempt 2' });
    expect(await rig.store.runs.get(run)).toEqual(before);
  });

  it('of another account is refused, as are its heartbeats', async () => {
    const run = await one();
    await rig.claimed();
    const why = { ok: false, why: 'another account holds this run' };
    await expect(rig.store.runs.record('other', run, 1, outcome('passed'), 0)).resolves.toEqual(why);
    await expect(rig.store.runs.heartbeat('other', run, 1, LEASE_MS)).resolves.toEqual(why);
    await expect(rig.store.runs.renew('other', run, 1, LEASE_MS)).resolves.toEqual(why);
    expect(await rig.state(run)).toBe('running');
  });

  it('is taken again where its reply was lost, and no other one is', async () => {
    const run = await one();
    const claimed = await rig.claimed();
    await rig.finish(claimed);
    await expect(rig.finish(claimed)).resolves.toEqual({ ok: true, cancelWhy: null });
    await expect(rig.finish(claimed, 'failed')).resolves.toEqual({ ok: false, why: 'the run is passed' });
    await expect(rig.store.runs.record('other', run, 1, outcome('passed'), 0)).resolves.toMatchObject({
      ok: false,
    });
  });

  it('of a run that is not there is refused', async () => {
    await expect(rig.finish({ run: 99, attempt: 1 })).resolves.toEqual({
      ok: false,
      why: 'there is no such run',
    });
  });

  it('interrupted gives the run back, uncounted', async () => {
    const run = await one({ retryLost: false });
    await rig.finish(await rig.claimed(), 'interrupted');
    expect(await rig.store.runs.get(run)).toMatchObject({
      state: 'queued',
      lostCount: 0,
      account: null,
      session: null,
      leaseUntil: null,
    });
    expect(await rig.claimed()).toMatchObject({ run, attempt: 2 });
  });
});

describe('a lease', () => {
  it('that was never accepted goes back when its session ends, and only then', async () => {
    const run = await one();
    await rig.claimed({ session: 's7' });
    await expect(rig.store.runs.sessionEnded('s8')).resolves.toEqual([]);
    await expect(rig.store.runs.sessionEnded('s7')).resolves.toEqual([run]);
    await rig.claimed({ session: 's7' });
    await rig.store.runs.heartbeat('build1', run, 2, LEASE_MS);
    await expect(rig.store.runs.sessionEnded('s7')).resolves.toEqual([]);
    expect(await rig.store.runs.get(run)).toMatchObject({ state: 'running', lostCount: 0 });
  });

  it('is given again to who repeats its key, on the new session', async () => {
    const run = await one();
    await one();
    const first = await rig.claimed({ key: 'k', session: 'old' });
    expect(await rig.claimed({ key: 'k', session: 'new' })).toEqual(first);
    await expect(rig.store.runs.sessionEnded('old')).resolves.toEqual([]);
    expect(await rig.store.runs.get(run)).toMatchObject({ session: 'new', attempt: 1 });
    expect((await rig.claimed({ key: 'k', account: 'other' })).run).not.toBe(run);
  });

  it('is not given again once it is over', async () => {
    const run = await one();
    const next = await one();
    await rig.finish(await rig.claimed({ key: 'k' }));
    expect(await rig.claimed({ key: 'k' })).toMatchObject({ run: next, attempt: 1 });
    expect(await rig.state(run)).toBe('passed');
  });

  it('is renewed by each accepted frame, and expires without', async () => {
    const run = await one();
    await rig.claimed();
    for (const beat of ['heartbeat', 'renew', 'heartbeat'] as const) {
      rig.clock.pass(LEASE_MS - 1);
      await rig.store.runs[beat]('build1', run, 1, LEASE_MS);
      await expect(rig.store.runs.expire()).resolves.toEqual([]);
    }
    await expect(rig.store.runs.nextExpiry()).resolves.toBe(rig.clock.now() + LEASE_MS);
    rig.clock.pass(LEASE_MS);
    await expect(rig.store.runs.expire()).resolves.toEqual([run]);
    await expect(rig.store.runs.nextExpiry()).resolves.toBeNull();
  });

  it('that expires a third time loses the run', async () => {
    const run = await one();
    for (const state of ['queued', 'queued', 'lost']) {
      await rig.claimed();
      rig.clock.pass(LEASE_MS);
      await rig.store.runs.expire();
      expect(await rig.state(run)).toBe(state);
    }
    expect(await rig.store.runs.get(run)).toMatchObject({ attempt: 3, lostCount: 3, reason: 'lost' });
  });

  it('gets its full time again when a server starts', async () => {
    const run = await one();
    await rig.claimed();
    rig.clock.pass(10 * LEASE_MS);
    await rig.reopen();
    await rig.store.runs.renewAll(LEASE_MS);
    await expect(rig.store.runs.expire()).resolves.toEqual([]);
    await expect(rig.store.runs.heartbeat('build1', run, 1, LEASE_MS)).resolves.toMatchObject({ ok: true });
  });
});

describe('cancelling', () => {
  it('ends what waits at once', async () => {
    const [queued, received] = [await one(), await one({ state: 'received' })];
    for (const run of [queued, received])
      await expect(rig.store.runs.cancel(run, 'not wanted')).resolves.toBe('cancelled');
    await expect(rig.claim()).resolves.toBeNull();
    await expect(rig.store.runs.cancel(queued, 'again')).resolves.toBe('cancelled');
    await expect(rig.store.runs.cancel(99, 'x')).resolves.toBe('not-found');
  });

  it('is told to a running one by its next heartbeat', async () => {
    const run = await one();
    const claimed = await rig.claimed();
    await expect(rig.store.runs.cancel(run, 'not wanted')).resolves.toBe('cancelling');
    await expect(rig.store.runs.cancel(run, 'second')).resolves.toBe('cancelling');
    await expect(rig.store.runs.heartbeat('build1', run, 1, LEASE_MS)).resolves.toEqual({
      ok: true,
      cancelWhy: 'not wanted',
    });
    await rig.finish(claimed, 'cancelled');
    await expect(rig.store.runs.cancel(run, 'third')).resolves.toBe('cancelled');
  });

  it('of a run whose runner falls silent ends it when its lease does', async () => {
    const run = await one();
    await rig.claimed();
    await rig.store.runs.cancel(run, 'not wanted');
    rig.clock.pass(LEASE_MS);
    await rig.store.runs.expire();
    expect(await rig.store.runs.get(run)).toMatchObject({ state: 'cancelled', detail: 'not wanted' });
  });
});

describe('a needed job', () => {
  const diamond = [
    newRun({ key: 'a' }),
    newRun({ key: 'b', needs: ['a'] }),
    newRun({ key: 'c', needs: ['a'] }),
    newRun({ key: 'd', needs: ['b', 'c', 'b'] }),
    newRun({ key: 'e' }),
  ];

  it('that passes lets those go on that need nothing else', async () => {
    const [a, b, c, d, e] = (await rig.queue('team/app', ...diamond)) as [
      number,
      number,
      number,
      number,
      number,
    ];
    const first = await rig.claimed();
    const other = await rig.claimed();
    expect([first.run, other.run, await rig.claim()]).toEqual([a, e, null]);
    await rig.finish(first);
    const [left, right] = [await rig.claimed(), await rig.claimed()];
    expect([left.run, right.run]).toEqual([b, c]);
    await rig.finish(left);
    await expect(rig.claim()).resolves.toBeNull();
    await rig.finish(right);
    expect((await rig.claimed()).run).toBe(d);
  });

  it('that does not pass cancels all that need it, each naming it', async () => {
    const [a, b, c, d, e] = await rig.queue('team/app', ...diamond);
    await rig.finish(await rig.claimed(), 'failed');
    for (const run of [b, c, d])
      expect(await rig.store.runs.get(run as number)).toMatchObject({
        state: 'cancelled',
        reason: 'cancelled',
        detail: `it needs a (run ${a}), which ended failed`,
      });
    expect((await rig.claimed()).run).toBe(e);
    await expect(rig.claim()).resolves.toBeNull();
  });

  it('that is cancelled while it waits does the same', async () => {
    const [a, , , d] = await rig.queue('team/app', ...diamond);
    await rig.store.runs.cancel(a as number, 'not wanted');
    expect(await rig.store.runs.get(d as number)).toMatchObject({
      state: 'cancelled',
      detail: `it needs a (run ${a}), which ended cancelled`,
    });
  });

  it('must be in the pipeline', async () => {
    await expect(rig.queue('team/app', newRun({ needs: ['nothing'] }))).rejects.toThrow('needs nothing');
    await expect(rig.store.runs.list({ limit: 5 })).resolves.toEqual([]);
  });
});

describe('why a run waits', () => {
  const codes = async (run: number) => {
    const wait = await rig.store.runs.why(run);
    return [wait?.reasons.map(({ code }) => code), wait?.place];
  };

  it('names the needs, the serial key, the cap and the commands', async () => {
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: 1 });
    const first = await one({ key: 'a', serial: 'k' });
    const second = await one({ key: 'b', serial: 'k' });
    const received = await one({ key: 'c', state: 'received' });
    const command = await one({ key: 'd', kind: 'command' });
    const [, needy] = await rig.queue('team/app', newRun({ key: 'e' }), newRun({ key: 'f', needs: ['e'] }));
    expect(await codes(first)).toEqual([['next'], 1]);
    expect(await codes(second)).toEqual([['serial'], null]);
    expect(await codes(received)).toEqual([['received'], null]);
    expect(await codes(command)).toEqual([['next'], 2]);
    expect(await codes(needy as number)).toEqual([['needs'], null]);
    await rig.claimed({ maxCommands: 0 });
    expect(await codes(first)).toEqual([[], null]);
    expect(await codes(command)).toEqual([['cap', 'commands'], null]);
    expect((await rig.store.runs.why(command))?.reasons[0]?.text).toBe(
      'team/app has 1 running and may have 1 at once',
    );
    expect(await rig.store.runs.why(99)).toBeNull();
  });
});

describe('what is told after a commit', () => {
  it('is which runs changed, and whether one may be leased now', async () => {
    const run = await one();
    expect([rig.changed, rig.leasable]).toEqual([[run], 1]);
    const claimed = await rig.claimed();
    expect([rig.changed, rig.leasable]).toEqual([[run, run], 1]);
    await rig.store.runs.heartbeat('build1', run, 1, LEASE_MS);
    await rig.store.runs.heartbeat('build1', run, 1, LEASE_MS);
    expect(rig.changed).toEqual([run, run, run]);
    await rig.finish(claimed);
    expect([rig.changed, rig.leasable]).toEqual([[run, run, run, run], 2]);
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: 1 });
    expect(rig.leasable).toBe(3);
  });
});

describe('the list of runs', () => {
  it('is the latest first, by repository, states and pipeline, and goes on before one', async () => {
    const { pipeline, runs } = await rig.store.runs.createPipeline(
      newPipeline([newRun({ key: 'a' }), newRun({ key: 'b' })]),
    );
    const [other] = await rig.queue('team/b', newRun());
    await rig.claimed();
    const ids = async (filter: object) =>
      (await rig.store.runs.list({ limit: 10, ...filter })).map(({ id }) => id);
    const [a, b] = runs;
    expect(await ids({})).toEqual([other, b, a]);
    expect(await ids({ limit: 1 })).toEqual([other]);
    expect(await ids({ before: b })).toEqual([a]);
    expect(await ids({ repository: 'team/b' })).toEqual([other]);
    expect(await ids({ pipeline, states: ['queued', 'passed'] })).toEqual([b]);
    expect(await ids({ states: [] })).toEqual([]);
    expect(await rig.store.runs.pipeline(pipeline)).toMatchObject({ id: pipeline, runs, fault: null });
    expect(await rig.store.runs.pipeline(99)).toBeNull();
  });
});

describe('a matrix that fails fast', () => {
  const entry = (key: string, change: Partial<NewRun> = {}) => newRun({ key, failFast: 'test', ...change });
  const matrix = [entry('test (1)'), entry('test (2)'), entry('test (3)', { cpus: 64 })];

  it.each(['failed', 'timed-out', 'refused'] as const)(
    'is cancelled when one of its runs has %s: at once what is queued, with the next heartbeat what runs',
    async (result) => {
      const [one, two, three, after, other] = await rig.queue(
        'team/app',
        ...matrix,
        newRun({ key: 'after', needs: ['test (2)'] }),
        newRun({ key: 'other', failFast: 'other', cpus: 64 }),
      );
      const [elsewhere] = await rig.queue('team/app', entry('test (1)', { cpus: 64 }));
      const [first, second] = [await rig.claimed(), await rig.claimed()];
      expect([first.run, second.run]).toEqual([one, two]);
      await rig.finish(first, result);
      const why = `test (1) (run ${one}) ended ${result}, and the matrix fails fast`;
      expect(await rig.store.runs.get(three ?? 0)).toMatchObject({ state: 'cancelled', detail: why });
      expect(await rig.store.runs.heartbeat('build1', second.run, second.attempt, 1_000)).toEqual({
        ok: true,
        cancelWhy: why,
      });
      await rig.finish(second, 'cancelled');
      expect(await rig.store.runs.get(after ?? 0)).toMatchObject({
        state: 'cancelled',
        detail: `it needs test (2) (run ${two}), which ended cancelled`,
      });
      for (const run of [other, elsewhere])
        expect(await rig.store.runs.get(run ?? 0)).toMatchObject({ state: 'queued' });
    },
  );

  it('goes on when one of its runs is cancelled or passes, and where it does not fail fast', async () => {
    const [, two, three] = await rig.queue('team/app', ...matrix);
    await rig.store.runs.cancel(two ?? 0, 'by me');
    await rig.finish(await rig.claimed());
    expect(await rig.store.runs.get(three ?? 0)).toMatchObject({ state: 'queued' });
    const patient = matrix.map((run) => ({ ...run, failFast: null }));
    const [first, , last] = await rig.queue('team/app', ...patient);
    const claimed = await rig.claimed();
    expect(claimed.run).toBe(first);
    await rig.finish(claimed, 'failed');
    expect(await rig.store.runs.get(last ?? 0)).toMatchObject({ state: 'queued' });
  });
});
