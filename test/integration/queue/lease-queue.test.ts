import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LeaseQueueParts } from '../../../src/server/queue/open.ts';
import type { LeaseQueue, LeaseRequest } from '../../../src/server/queue/queue.ts';
import { LEASE_MS, QueueRig, queueRequest as request } from '../../support/queue-rig.ts';
import { newPipeline, newRun, outcome, type StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

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

const open = (change: Partial<LeaseQueueParts> = {}) => queues.reopen(change);
const settled = () => queues.settled();

function labelled(session: string, ...labels: string[]): LeaseRequest {
  const plain = request(session);
  return { ...plain, session: { ...plain.session, labels } };
}

describe('a lease', () => {
  it('is given at once where a run waits', async () => {
    const [run] = await rig.queue('team/app', newRun());
    await expect(queue.lease(request('s1'))).resolves.toMatchObject({ run, attempt: 1 });
  });

  it('waits until a run is queued, and goes to who came first', async () => {
    const order: string[] = [];
    const waiting = ['s1', 's2', 's3'].map((session) =>
      queue.lease(request(session)).then((run) => {
        order.push(session);
        return run?.run;
      }),
    );
    await settled();
    const [first] = await rig.queue('team/app', newRun());
    expect(await waiting[0]).toBe(first);
    const [second, third] = await rig.queue('team/app', newRun({ key: 'a' }), newRun({ key: 'b' }));
    expect(await Promise.all(waiting)).toEqual([first, second, third]);
    expect(order).toEqual(['s1', 's2', 's3']);
  });

  it('reaches a hundred who wait with a hundred runs of one commit', async () => {
    const waiting = Array.from({ length: 100 }, (_, at) => queue.lease(request(`s${at}`)));
    await settled();
    const runs = await rig.queue('team/app', ...waiting.map((_, at) => newRun({ key: `job-${at}` })));
    const leased = (await Promise.all(waiting)).map((run) => run?.run ?? 0);
    expect(leased.sort((a, b) => a - b)).toEqual(runs);
  });

  it('reaches who can take it past those who cannot', async () => {
    const others = Array.from({ length: 20 }, (_, at) => queue.lease(request(`x${at}`, { waitMs: 500 })));
    const able = queue.lease(labelled('s1', 'gpu'));
    await settled();
    const [run] = await rig.queue('team/app', newRun({ labels: ['gpu'] }));
    expect((await able)?.run).toBe(run);
    expect(await Promise.all(others)).toEqual(others.map(() => null));
  });

  it('is woken by what ends, is authorised, is given back or is allowed', async () => {
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: 1 });
    const [one, two] = await rig.queue('team/app', newRun({ key: 'a' }), newRun({ key: 'b' }));
    const [received] = await rig.queue('team/c', newRun({ state: 'received' }));
    expect((await queue.lease(request('s1')))?.run).toBe(one);
    const next = queue.lease(request('s2'));
    await settled();
    await rig.store.runs.authorise(received as number, true, '');
    expect((await next)?.run).toBe(received);
    const afterCap = queue.lease(request('s3'));
    await settled();
    await rig.store.repositories.set('team/app', { maxJobs: 2 });
    expect((await afterCap)?.run).toBe(two);
    const afterGivingBack = queue.lease(request('s4'));
    await settled();
    await rig.store.runs.sessionEnded('s3');
    expect(await afterGivingBack).toMatchObject({ run: two, attempt: 2 });
    const [needed] = await rig.queue('team/d', newRun({ key: 'a' }), newRun({ key: 'b', needs: ['a'] }));
    expect((await queue.lease(request('s5')))?.run).toBe(needed);
    const afterEnd = queue.lease(request('s6'));
    await settled();
    await rig.store.runs.record('build1', needed as number, 1, outcome('passed'), 0);
    expect((await afterEnd)?.run).toBe((needed as number) + 1);
  });

  it('ends with nothing when its time has passed, and looks once without any', async () => {
    await expect(queue.lease(request('s1', { waitMs: 0 }))).resolves.toBeNull();
    await expect(queue.lease(request('s1', { waitMs: 20 }))).resolves.toBeNull();
    const [run] = await rig.queue('team/app', newRun());
    await expect(queue.lease(request('s1', { waitMs: 0 }))).resolves.toMatchObject({ run });
  });

  it('ends with nothing when its signal is aborted, and takes no run after', async () => {
    const gone = new AbortController();
    const waiting = queue.lease(request('s1', { signal: gone.signal }));
    await settled();
    gone.abort();
    await expect(waiting).resolves.toBeNull();
    const [run] = await rig.queue('team/app', newRun());
    await expect(queue.lease(request('s1', { signal: gone.signal }))).resolves.toBeNull();
    expect(await rig.state(run as number)).toBe('queued');
  });

  it('is given back where the signal is aborted while it is claimed', async () => {
    const [run] = await rig.queue('team/app', newRun());
    const gone = new AbortController();
    const claiming = queue.lease(request('s1', { signal: gone.signal }));
    gone.abort();
    await expect(claiming).resolves.toBeNull();
    await expect(queue.lease(request('s2'))).resolves.toMatchObject({ run, attempt: 2 });
  });

  it('is the same run for who repeats the key, and its predecessor takes nothing', async () => {
    const [run] = await rig.queue('team/app', newRun());
    await queue.lease(request('old', { key: 'k' }));
    await expect(queue.lease(request('new', { key: 'k' }))).resolves.toMatchObject({ run, attempt: 1 });
    await rig.store.runs.sessionEnded('old');
    expect(await rig.store.runs.get(run as number)).toMatchObject({ state: 'running', session: 'new' });

    const halfOpen = queue.lease(request('old', { key: 'l' }));
    await settled();
    const again = queue.lease(request('new', { key: 'l' }));
    await expect(halfOpen).resolves.toBeNull();
    const [next] = await rig.queue('team/app', newRun());
    await expect(again).resolves.toMatchObject({ run: next });
    expect((await rig.store.runs.get(next as number))?.session).toBe('new');
  });

  it('ends when the queue closes, and is not left with a run', async () => {
    const waiting = queue.lease(request('s1'));
    await settled();
    const [run] = await rig.queue('team/app', newRun());
    await Promise.all([queue.close(), queue.close()]);
    const leased = await waiting;
    expect(await rig.state(run as number)).toBe(leased === null ? 'queued' : 'running');
    await expect(queue.lease(request('s2'))).resolves.toBeNull();
  });
});

describe('secrets', () => {
  const asked: string[] = [];
  const secretsFor = async (repository: string) => {
    asked.push(repository);
    if (repository === 'team/broken') throw new Error('secret TOKEN does not open');
    return { TOKEN: 'hush' };
  };

  it('are given to trusted runs alone', async () => {
    queue = await open({ secretsFor });
    const make = (trust: 'trusted' | 'untrusted') =>
      rig.store.runs.createPipeline(newPipeline([newRun()], { trust }));
    await make('untrusted');
    expect((await queue.lease(request('s1')))?.spec).not.toHaveProperty('secrets');
    expect(asked).toEqual([]);
    await make('trusted');
    expect((await queue.lease(request('s1')))?.spec).toHaveProperty('secrets', { TOKEN: 'hush' });
  });

  it('that do not open fail the run with the reason, and the lease goes on to the next', async () => {
    queue = await open({ secretsFor });
    const [broken] = await rig.queue('team/broken', newRun());
    const [good] = await rig.queue('team/app', newRun());
    expect((await queue.lease(request('s1')))?.run).toBe(good);
    expect(await rig.store.runs.get(broken as number)).toMatchObject({
      state: 'failed',
      reason: 'host',
      detail: 'secret TOKEN does not open',
    });
  });

  it('are not put into a spec that is none', async () => {
    queue = await open({ secretsFor });
    const spec = 'broken' as unknown as ReturnType<typeof newRun>['spec'];
    await rig.queue('team/app', newRun({ spec }));
    expect((await queue.lease(request('s1')))?.spec).toBe('broken');
  });
});

describe('changes', () => {
  it('are told by run until the subscription ends', async () => {
    const seen: number[] = [];
    const end = queue.onChange((run) => seen.push(run));
    const [run] = await rig.queue('team/app', newRun());
    await queue.lease(request('s1'));
    expect(seen).toEqual([run, run]);
    end();
    await rig.store.runs.cancel(run as number, 'x');
    expect(seen).toEqual([run, run]);
  });
});

describe('a silent runner', () => {
  it('loses its run when the lease ends, to who waits for one', async () => {
    await queue.close();
    queue = await open({ leaseMs: 50, clock: rig.clock });
    const [run] = await rig.queue('team/app', newRun());
    await queue.lease(request('s1'));
    const waiting = queue.lease(request('s2'));
    rig.clock.pass(50);
    await expect(waiting).resolves.toMatchObject({ run, attempt: 2 });
  });

  it('keeps its run for a full lease after a restart', async () => {
    const [run] = await rig.queue('team/app', newRun());
    await queue.lease(request('s1'));
    await queue.close();
    rig.clock.pass(100 * LEASE_MS);
    await rig.reopen();
    queue = await open({ clock: rig.clock });
    expect(await rig.store.runs.get(run as number)).toMatchObject({
      state: 'running',
      attempt: 1,
      leaseUntil: rig.clock.now() + LEASE_MS,
    });
  });

  it.each([
    ['back', -3_600_000],
    ['forward', 3_600_000],
  ])('gets its full time again when the clock is set %s', async (_, by) => {
    await queue.close();
    queue = await open({ leaseMs: 50, clock: rig.clock });
    const [run] = await rig.queue('team/app', newRun());
    await queue.lease(request('s1'));
    rig.clock.wall += by;
    await until('the lease is renewed', async () => {
      const { state, leaseUntil } = (await rig.store.runs.get(run as number)) ?? {};
      return state === 'running' && leaseUntil === rig.clock.now() + 50;
    });
    rig.clock.pass(50);
    await until('the lease ends', async () => (await rig.state(run as number)) === 'queued');
  });
});
