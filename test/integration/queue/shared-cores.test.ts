import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LeaseQueue, LeaseRequest } from '../../../src/server/queue/queue.ts';
import { QueueRig, queueRequest as request } from '../../support/queue-rig.ts';
import { newRun, outcome, type StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let queues: QueueRig;
let rig: StoreRig;
let queue: LeaseQueue;

beforeEach(async () => {
  cleanup = new Cleanup();
  queues = await QueueRig.open(cleanup);
  ({ store: rig, queue } = queues);
});

afterEach(async () => cleanup.run());

const settled = () => queues.settled();

/** Of a process with eight cores. */
function withFree(session: string, freeCpus: number): LeaseRequest {
  return request(session, { freeCpus });
}

describe('the cores of one process', () => {
  it('are not given twice to slots that wait with the same ones free', async () => {
    const waiting = [queue.lease(withFree('p1-a', 8)), queue.lease(withFree('p1-b', 8))];
    await settled();
    const [one, two] = await rig.queue(
      'team/app',
      newRun({ key: 'a', cpus: 5 }),
      newRun({ key: 'b', cpus: 5 }),
    );
    expect((await waiting[0])?.run).toBe(one);
    await settled();
    expect(await rig.state(two as number)).toBe('queued');
    await rig.store.runs.record('build1', one as number, 1, outcome('passed'), 0);
    expect(await waiting[1]).toMatchObject({ run: two, attempt: 1 });
  });

  it('go to another process past one whose slots have them no more', async () => {
    const first = queue.lease(withFree('p1-a', 8));
    const waiting = [queue.lease(withFree('p1-b', 8)), queue.lease(withFree('p2-c', 8))];
    await settled();
    const runs = await rig.queue('team/app', newRun({ key: 'a', cpus: 5 }), newRun({ key: 'b', cpus: 5 }));
    expect([(await first)?.run, (await waiting[1])?.run]).toEqual(runs);
  });

  it('are counted in thousandths, as the runner does, and what is less is dropped', async () => {
    const jobs = ['a', 'b', 'c', 'd', 'e'].map((key) => newRun({ key, cpus: 2.0009 }));
    const runs = await rig.queue('team/app', ...jobs);
    const got: (number | undefined)[] = [];
    for (const session of ['p1-a', 'p1-b', 'p1-c', 'p1-d', 'p1-e'])
      got.push((await queue.lease(request(session, { freeCpus: 8, waitMs: 0 })))?.run);
    expect(got).toEqual([...runs.slice(0, 4), undefined]);
  });

  it('that a job has left, whose slot does not ask again, are told to the others of its process', async () => {
    const [mine] = await rig.queue('team/app', newRun({ cpus: 8 }));
    await queue.lease(withFree('p1-a', 8));
    await rig.queue('team/app', newRun({ key: 'b', cpus: 8 }));
    await queue.lease(withFree('p2-a', 8));
    // Of the same shape, and the first to have asked.
    const other = queue.lease(withFree('p2-b', 0));
    await settled();
    const beside = queue.lease(withFree('p1-b', 0));
    await settled();
    const [run] = await rig.queue('team/app', newRun({ key: 'c', cpus: 8 }));
    await settled();
    await rig.store.runs.record('build1', mine as number, 1, outcome('passed'), 0);
    queue.freed('p1-a');
    expect((await Promise.race([beside, other]))?.run).toBe(run);
  });

  it('that a job has left go to a slot that asked while it ran, beside the one that it ran on', async () => {
    const [large] = await rig.queue('team/app', newRun({ cpus: 8 }));
    expect((await queue.lease(withFree('p1-a', 8)))?.run).toBe(large);
    const beside = queue.lease(withFree('p1-b', 0));
    await settled();
    const small = await rig.queue('team/app', newRun({ key: 'a', cpus: 4 }), newRun({ key: 'b', cpus: 4 }));
    await settled();
    const recorded = rig.store.runs.record('build1', large as number, 1, outcome('passed'), 0);
    const again = queue.lease(withFree('p1-a', 8));
    await recorded;
    expect(new Set([(await again)?.run, (await beside)?.run])).toEqual(new Set(small));
  });
});

describe('a run that wants more than small ones leave free', () => {
  const TEN_MINUTES = 600_000;
  const small = (key: string) => newRun({ key, cpus: 4 });
  let early: number;
  let large: number;
  let later: number;

  /** Two small jobs run on p1; an early small one waits, a large one, and a small one that came later. */
  beforeEach(async () => {
    queue = await queues.reopen({ clock: rig.clock });
    await rig.queue('team/app', small('a'), small('b'));
    await queue.lease(withFree('p1-a', 8));
    await queue.lease(withFree('p1-b', 4));
    const waiting = await rig.queue('team/app', small('c'), newRun({ key: 'd', cpus: 8 }), small('e'));
    [early = 0, large = 0, later = 0] = waiting;
  });

  const ended = (run: number) => rig.store.runs.record('build1', run, 1, outcome('passed'), 0);
  const now = (session: string, freeCpus: number) =>
    queue.lease(request(session, { freeCpus, waitMs: 0 })).then((run) => run?.run ?? null);

  it('waits behind those that fit for ten minutes, and then has room kept by one runner', async () => {
    await ended(1);
    expect(await now('p1-a', 4)).toBe(early);
    await ended(2);
    rig.clock.pass(TEN_MINUTES);
    expect(await now('p1-b', 4)).toBe(later);
    const [another = 0] = await rig.queue('team/app', small('f'));
    rig.clock.pass(1);
    await ended(early);
    expect(await now('p1-a', 4)).toBeNull();
    expect(queue.roomKept()).toEqual([{ run: large, process: 'p1' }]);
    // room is kept once
    expect(await now('p2-c', 4)).toBe(another);
    await ended(later);
    // of the least busy repository, and yet not before it
    await rig.queue('team/other', small('g'));
    expect(await now('p1-b', 8)).toBe(large);
    expect(queue.roomKept()).toEqual([]);
  });

  it('holds back none that came before it', async () => {
    rig.clock.pass(TEN_MINUTES + 1);
    await ended(1);
    expect(await now('p1-a', 4)).toBe(early);
    await ended(early);
    expect(await now('p1-a', 4)).toBeNull();
  });

  it('holds back none that came before it, also where one that came after it is of a less busy repository', async () => {
    rig.clock.pass(TEN_MINUTES + 1);
    await rig.queue('team/other', small('f'));
    await ended(1);
    expect(await now('p1-a', 4)).toBe(early);
  });

  it('keeps its room when one of its lane that came before it is given back', async () => {
    const [another = 0] = await rig.queue('team/app', newRun({ key: 'g', cpus: 8 }), small('h'));
    await rig.store.runs.cancel(later, 'not wanted');
    expect(await now('p2-c', 8)).toBe(early);
    await ended(early);
    rig.clock.pass(TEN_MINUTES + 1);
    expect(await now('p2-c', 8)).toBe(large);
    await ended(1);
    expect(await now('p1-a', 4)).toBeNull();
    expect(queue.roomKept()).toEqual([{ run: another, process: 'p1' }]);
    await rig.store.runs.sessionEnded('p2-c');
    expect(await now('p1-a', 4)).toBeNull();
    expect(queue.roomKept()).toEqual([{ run: another, process: 'p1' }]);
  });

  it('has no room kept for the time in which it waited for what it needs', async () => {
    const [needed = 0, needy = 0] = await rig.queue(
      'team/needs',
      newRun({ key: 'a', cpus: 1 }),
      newRun({ key: 'b', cpus: 7, needs: ['a'] }),
    );
    for (const run of [early, large, later]) await rig.store.runs.cancel(run, 'not wanted');
    expect(await now('p2-c', 8)).toBe(needed);
    rig.clock.pass(TEN_MINUTES + 1);
    await ended(needed);
    await ended(1);
    await now('p1-a', 4);
    expect(queue.roomKept()).toEqual([]);
    rig.clock.pass(TEN_MINUTES + 1);
    await now('p1-a', 4);
    expect(queue.roomKept()).toEqual([{ run: needy, process: 'p1' }]);
  });

  it('loses its room to the next that asks where its runner asks for nothing any more', async () => {
    await ended(1);
    await now('p1-a', 4);
    rig.clock.pass(TEN_MINUTES + 1);
    await ended(2);
    const gone = new AbortController();
    const waiting = queue.lease({ ...withFree('p1-b', 4), signal: gone.signal });
    await settled();
    await rig.queue('team/x', small('x'));
    expect(await now('p2-c', 4)).not.toBeNull();
    gone.abort();
    await waiting;
    rig.clock.pass(5_001);
    expect(await now('p2-d', 4)).toBeNull();
    expect(queue.roomKept()).toEqual([{ run: large, process: 'p2' }]);
  });

  it('holds nothing back any more when it is cancelled, also for a slot that waits', async () => {
    await ended(1);
    await now('p1-a', 4);
    rig.clock.pass(TEN_MINUTES + 1);
    await ended(2);
    const waiting = queue.lease(withFree('p1-b', 4));
    await settled();
    expect(queue.roomKept()).toEqual([{ run: large, process: 'p1' }]);
    await rig.store.runs.cancel(large, 'not wanted');
    expect((await waiting)?.run).toBe(later);
  });

  it('does not keep the slots of other runners from what they wait for', async () => {
    await ended(1);
    await now('p1-a', 4);
    rig.clock.pass(TEN_MINUTES + 1);
    await rig.store.runs.cancel(later, 'not wanted');
    await ended(2);
    const first = queue.lease(withFree('p1-b', 4));
    await settled();
    const other = queue.lease({ ...withFree('p2-c', 4), waitMs: 30_000 });
    await settled();
    const [run] = await rig.queue('team/app', small('f'));
    expect((await other)?.run).toBe(run);
    expect(await rig.state(large)).toBe('queued');
    await ended(early);
    const again = queue.lease(withFree('p1-a', 8));
    expect((await Promise.race([first, again]))?.run).toBe(large);
  });
});

describe('the last place of a repository with a cap', () => {
  const gpu = (key: string) => newRun({ key, labels: ['gpu'] });
  const able = (session: string): LeaseRequest => {
    const plain = request(session);
    return { ...plain, session: { ...plain.session, labels: ['gpu'] } };
  };

  /** A run that any slot can take, one that only few can, and a later one that any can; one at once. */
  async function runs(): Promise<number[]> {
    queue = await queues.reopen({ clock: rig.clock });
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: 1 });
    return await rig.queue('team/app', newRun({ key: 'a' }), gpu('b'), newRun({ key: 'c' }));
  }

  it('is left to a run that came first and has waited ten minutes, where a slot waits that can take it', async () => {
    const [first = 0, few = 0, later = 0] = await runs();
    expect((await queue.lease(request('p1-a')))?.run).toBe(first);
    const waiting = queue.lease(able('p2-b'));
    await settled();
    rig.clock.pass(600_001);
    const recorded = rig.store.runs.record('build1', first, 1, outcome('passed'), 0);
    const again = queue.lease(request('p1-a'));
    await recorded;
    expect((await waiting)?.run).toBe(few);
    await rig.store.runs.record('build1', few, 1, outcome('passed'), 0);
    expect((await again)?.run).toBe(later);
  });

  it('is not left to it before, nor where no slot waits that could take it', async () => {
    const [first = 0, , later = 0] = await runs();
    await queue.lease(request('p1-a'));
    const gone = new AbortController();
    const waiting = queue.lease({ ...able('p2-b'), signal: gone.signal });
    await settled();
    rig.clock.pass(600_000);
    const recorded = rig.store.runs.record('build1', first, 1, outcome('passed'), 0);
    expect((await queue.lease(request('p1-a')))?.run).toBe(later);
    await recorded;
    gone.abort();
    await waiting;
    rig.clock.pass(1);
    const [another = 0] = await rig.queue('team/app', newRun({ key: 'd' }));
    const ended = rig.store.runs.record('build1', later, 1, outcome('passed'), 0);
    expect((await queue.lease(request('p1-a')))?.run).toBe(another);
    await ended;
  });
});
