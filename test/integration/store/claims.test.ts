import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newRun, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let rig: StoreRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
});

afterEach(async () => cleanup.run());

function runsOf(count: number, change: Parameters<typeof newRun>[0] = {}) {
  return Array.from({ length: count }, (_, at) => newRun({ key: `job-${at}`, ...change }));
}

describe('claims that race', () => {
  it('give ten sessions of one account ten distinct runs of fifty', async () => {
    await rig.queue('team/app', ...runsOf(50));
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, at) => rig.claimed({ session: `s${at}` })),
    );
    expect(new Set(claims.map(({ run }) => run)).size).toBe(10);
    expect(claims.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 10 }, () => 1));
  });

  it('give the last run to one and nothing to the other', async () => {
    const [only] = await rig.queue('team/app', newRun());
    const [first, second] = await Promise.all([rig.claim(), rig.claim()]);
    expect([first?.run, second]).toEqual([only, null]);
  });
});

describe('a claim', () => {
  it('carries the stored spec with run, attempt and pipeline', async () => {
    const { pipeline, runs } = await rig.store.runs.createPipeline({
      repository: 'bench/slots',
      event: 'manual',
      ref: 'refs/heads/main',
      sha: 'b'.repeat(40),
      trust: 'untrusted',
      title: '',
      fault: null,
      runs: [newRun()],
    });
    await expect(rig.claimed()).resolves.toEqual({
      run: runs[0],
      attempt: 1,
      repository: 'bench/slots',
      trust: 'untrusted',
      job: 'test',
      startedAt: rig.clock.now(),
      cpus: 1,
      memoryBytes: 0,
      spec: { ...newRun().spec, run: runs[0], attempt: 1, pipeline },
    });
  });

  it('takes the one of the least busy repository, then the earliest', async () => {
    const [a1, a2] = await rig.queue('team/a', ...runsOf(3));
    const [b1] = await rig.queue('team/b', newRun());
    const [c1] = await rig.queue('team/c', newRun({ labels: ['linux'] }));
    const taken = [];
    for (let at = 0; at < 4; at += 1) taken.push((await rig.claimed({ labels: ['linux'] })).run);
    expect(taken).toEqual([a1, b1, c1, a2]);
  });

  it('counts a repository as busy over all its lanes', async () => {
    await rig.queue('team/a', newRun({ key: 'x', labels: ['linux'] }), newRun({ key: 'y', cpus: 2 }));
    const [b1] = await rig.queue('team/b', newRun());
    await rig.claimed({ labels: ['linux'] });
    expect((await rig.claimed()).run).toBe(b1);
  });

  it('names the runs that wait too long for what is not free, of those that its process could take', async () => {
    const total = { cpus: 8, memoryBytes: 1024 };
    await rig.store.repositories.add({ name: 'team/full', cloneUrl: '/x', maxJobs: 1 });
    await rig.queue('team/full', newRun());
    await rig.claimed({ session: 'p1-a' });
    const [cpus] = await rig.queue('team/a', newRun({ cpus: 6 }));
    await rig.queue('team/a', newRun({ key: 'after it in its lane', cpus: 6 }));
    const [memory] = await rig.queue('team/b', newRun({ memoryBytes: 1000 }));
    await rig.queue('team/c', newRun({ cpus: 9 }));
    await rig.queue('team/d', newRun({ cpus: 6, labels: ['gpu'] }));
    await rig.queue('no/way', newRun({ cpus: 6 }));
    await rig.queue('team/full', newRun({ cpus: 6 }));
    await rig.queue('team/e', newRun({ cpus: 2 }));
    rig.clock.pass(1_000);
    await rig.queue('team/f', newRun({ cpus: 6 }));
    const named: (readonly number[])[] = [];
    const room = {
      total,
      queuedBefore: rig.clock.now(),
      kept: () => null,
      keep: (starved: readonly number[]) => {
        named.push(starved);
        return null;
      },
      isAwaited: () => false,
    };
    const claim = { room, freeCpus: 4, freeMemoryBytes: 512, repos: ['team/*'] };
    await rig.claimed({ ...claim, session: 'p1-b' });
    expect(named).toEqual([[cpus, memory]]);
    // a process that holds nothing has no more to wait for
    await rig.claim({ ...claim, session: 'p2-c' });
    expect(named.at(-1)).toEqual([]);
  });

  it('takes only what the labels, cores, memory and repositories of the session allow', async () => {
    const [needy] = await rig.queue(
      'team/a',
      newRun({ labels: ['linux', 'gpu'], cpus: 4, memoryBytes: 1024 }),
    );
    const enough = { labels: ['gpu', 'linux', 'x'], freeCpus: 4, freeMemoryBytes: 1024, repos: ['team/*'] };
    await expect(rig.claim({ ...enough, labels: ['gpu'] })).resolves.toBeNull();
    await expect(rig.claim({ ...enough, freeCpus: 3.5 })).resolves.toBeNull();
    await expect(rig.claim({ ...enough, freeMemoryBytes: 1023 })).resolves.toBeNull();
    await expect(rig.claim({ ...enough, repos: ['no/*'] })).resolves.toBeNull();
    expect((await rig.claimed(enough)).run).toBe(needy);
  });

  it('finds a lane that was made after one whose making was undone', async () => {
    const twice = [newRun({ key: 'x', labels: ['a'] }), newRun({ key: 'x', labels: ['b'] })];
    const [broken, , good] = await Promise.allSettled([
      rig.queue('team/a', ...twice),
      rig.claim({ labels: ['a', 'b', 'c'] }),
      rig.queue('team/a', newRun({ labels: ['c'] })),
    ]);
    expect([broken.status, good.status]).toEqual(['rejected', 'fulfilled']);
    await expect(rig.claim({ labels: ['a', 'b'] })).resolves.toBeNull();
    await expect(rig.claim({ labels: ['c'] })).resolves.not.toBeNull();
  });

  it('stops at the cap of commands, over all repositories, and goes on with jobs', async () => {
    await rig.queue('team/a', ...runsOf(2, { kind: 'command' }));
    await rig.queue('team/b', ...runsOf(2, { kind: 'command' }), newRun({ key: 'job' }));
    const kinds = [];
    for (let at = 0; at < 5; at += 1) {
      const claimed = await rig.claim();
      kinds.push(claimed && (await rig.store.runs.get(claimed.run))?.kind);
    }
    expect(kinds.filter((kind) => kind === 'command')).toHaveLength(2);
    expect(kinds.filter((kind) => kind === 'job')).toHaveLength(1);
    expect(kinds.slice(3)).toEqual([null, null]);
  });
});

describe('max_jobs_per_repo', () => {
  it('keeps one repository at its cap while the others finish first', async () => {
    await rig.store.repositories.add({ name: 'team/big', cloneUrl: '/big', maxJobs: 2 });
    const big = new Set(await rig.queue('team/big', ...runsOf(40)));
    for (const name of ['team/x', 'team/y', 'team/z']) await rig.queue(name, ...runsOf(5));
    const running: { run: number; attempt: number }[] = [];
    const ends: boolean[] = [];
    for (;;) {
      for (let next = await rig.claim(); next; next = running.length < 6 ? await rig.claim() : null)
        running.push(next);
      const ofBig = running.filter(({ run }) => big.has(run)).length;
      expect(ofBig).toBeLessThanOrEqual(2);
      const done = running.shift();
      if (!done) break;
      await rig.finish(done);
      ends.push(big.has(done.run));
    }
    expect(ends.filter(Boolean)).toHaveLength(40);
    const lastOther = ends.lastIndexOf(false);
    expect(ends.slice(0, lastOther).filter(Boolean).length).toBeLessThan(15);
  });

  it('can be raised, lowered and dropped while runs wait', async () => {
    const cap = (maxJobs: number | null) => rig.store.repositories.set('team/app', { maxJobs });
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: 1 });
    await rig.queue('team/app', ...runsOf(5));
    await rig.claimed();
    await expect(rig.claim()).resolves.toBeNull();
    await cap(2);
    await rig.claimed();
    await cap(1);
    await expect(rig.claim()).resolves.toBeNull();
    await cap(null);
    await rig.claimed();
  });
});

describe('a serial key', () => {
  it('lets runs go one at a time in order, and with two keys two of three claims get one', async () => {
    const a = await rig.queue('team/app', ...runsOf(3, { serial: 'team/app:a' }));
    const b = await rig.queue('team/app', ...runsOf(1, { serial: 'team/app:b' }));
    const claims = await Promise.all([rig.claim(), rig.claim(), rig.claim()]);
    expect(claims.map((claim) => claim?.run)).toEqual([a[0], b[0], undefined]);
    for (const at of [0, 1]) {
      await rig.finish({ run: a[at] as number, attempt: 1 }, at === 0 ? 'failed' : 'passed');
      expect((await rig.claimed()).run).toBe(a[at + 1]);
    }
  });

  it('is held back by a received run, its own key only', async () => {
    const [received] = await rig.queue(
      'team/app',
      newRun({ serial: 'k', state: 'received', kind: 'command' }),
    );
    const [later] = await rig.queue('team/app', newRun({ serial: 'k' }));
    const [other] = await rig.queue('team/app', newRun({ serial: 'l' }));
    expect((await rig.claimed()).run).toBe(other);
    await expect(rig.claim()).resolves.toBeNull();
    await rig.store.runs.authorise(received as number, true, '');
    const first = await rig.claimed();
    expect(first.run).toBe(received);
    await rig.finish(first);
    expect((await rig.claimed()).run).toBe(later);
  });

  it('goes on where the first was refused or cancelled', async () => {
    const [one] = await rig.queue('team/app', newRun({ serial: 'k', state: 'received' }));
    const [two] = await rig.queue('team/app', newRun({ serial: 'k' }));
    const [three] = await rig.queue('team/app', newRun({ serial: 'k' }));
    await rig.store.runs.authorise(one as number, false, 'may not');
    await rig.store.runs.cancel(two as number, 'not wanted');
    expect((await rig.claimed()).run).toBe(three);
  });

  it('does not deadlock where a job needs a later one of its key', async () => {
    const [deploy, build] = await rig.queue(
      'team/app',
      newRun({ key: 'deploy', serial: 'k', needs: ['build'] }),
      newRun({ key: 'build', serial: 'k' }),
    );
    const first = await rig.claimed();
    expect(first.run).toBe(build);
    await rig.finish(first);
    expect((await rig.claimed()).run).toBe(deploy);
  });
});
