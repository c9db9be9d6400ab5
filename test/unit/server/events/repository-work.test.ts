import { describe, expect, it } from 'vitest';
import {
  backoffMs,
  RepositoryWork,
  restAfterGit,
  type WorkSource,
} from '../../../../src/server/events/repository-work.ts';
import { until } from '../../../support/until.ts';

interface Job {
  readonly repository: string;
  /** How often it fails before it is done. */
  fails: number;
}

/** Work in memory, done when the test says so. */
class Source implements WorkSource {
  readonly jobs: Job[] = [];
  readonly done: string[] = [];
  readonly tries: number[] = [];
  readonly held = new Map<string, () => void>();
  hold = false;
  atOnce = 0;
  mostAtOnce = 0;
  looks = 0;

  async waiting() {
    this.looks += 1;
    return [...new Set(this.jobs.map(({ repository }) => repository))];
  }

  async work(repository: string, tries: number) {
    this.tries.push(tries);
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    try {
      if (this.hold) await new Promise<void>((resolve) => this.held.set(repository, resolve));
      await Promise.resolve();
      const job = this.jobs.find((job) => job.repository === repository);
      if (!job) return;
      if (job.fails-- > 0) throw new Error('not now');
      this.jobs.splice(this.jobs.indexOf(job), 1);
      this.done.push(repository);
    } finally {
      this.atOnce -= 1;
    }
  }
}

function workOff(source: Source, atOnce = 2, backoff = (_tries: number) => 1, rest = 0) {
  const faults: string[] = [];
  const work = new RepositoryWork({
    source,
    atOnce,
    restMs: () => rest,
    backoffMs: backoff,
    onFault: (_, repository, tries) => void faults.push(`${repository} ${tries}`),
  });
  return { work, faults };
}

describe('work by repository', () => {
  it('is all done, one at a time of each, several repositories at once', async () => {
    const source = new Source();
    for (let at = 0; at < 30; at += 1) source.jobs.push({ repository: `r${at % 3}`, fails: 0 });
    const { work } = workOff(source, 2);
    work.poke();
    await until('all is done', () => source.done.length === 30);
    expect(source.mostAtOnce).toBe(2);
    await work.close();
  });

  it('that fails is tried again after its backoff, and holds back no other repository', async () => {
    const source = new Source();
    source.jobs.push({ repository: 'bad', fails: 3 }, { repository: 'good', fails: 0 });
    const waits: number[] = [];
    const { work, faults } = workOff(source, 1, (tries) => waits.push(tries));
    work.poke();
    await until('all is done', () => source.done.length === 2);
    expect(source.done).toEqual(['good', 'bad']);
    expect(faults).toEqual(['bad 1', 'bad 2', 'bad 3']);
    expect(waits).toEqual([1, 2, 3]);
    await work.close();
  });

  it('counts tries anew after one that went well', async () => {
    const source = new Source();
    source.jobs.push({ repository: 'r', fails: 1 }, { repository: 'r', fails: 1 });
    const { work } = workOff(source);
    work.poke();
    await until('all is done', () => source.done.length === 2);
    expect(source.tries).toEqual([0, 1, 0, 1]);
    await work.close();
  });

  it('that comes while it is looked for is seen', async () => {
    const source = new Source();
    const { work } = workOff(source);
    for (let at = 0; at < 100; at += 1) {
      source.jobs.push({ repository: `r${at % 7}`, fails: 0 });
      work.poke();
      await Promise.resolve();
    }
    await until('all is done', () => source.done.length === 100);
    await work.close();
  });

  it('rests after a part of it, and does what came meanwhile by one', async () => {
    const source = new Source();
    source.jobs.push(
      { repository: 'a', fails: 0 },
      { repository: 'a', fails: 0 },
      { repository: 'b', fails: 0 },
    );
    const { work } = workOff(source, 1, () => 1, 1e9);
    work.poke();
    await until('both have had their turn', () => source.done.length === 2);
    work.poke();
    await new Promise((resolve) => setImmediate(resolve));
    expect(source.done).toEqual(['a', 'b']);
    await work.close();
  });

  it('ends with what is under way, and begins nothing after', async () => {
    const source = new Source();
    source.hold = true;
    source.jobs.push(
      { repository: 'a', fails: 0 },
      { repository: 'a', fails: 0 },
      { repository: 'b', fails: 5 },
    );
    const { work } = workOff(source, 1);
    work.poke();
    await until('it works', () => source.held.has('a'));
    const closed = work.close();
    source.held.get('a')?.();
    await closed;
    work.poke();
    await new Promise((resolve) => setImmediate(resolve));
    expect(source.done).toEqual(['a']);
  });
});

it('git has a third of the time, and no repository rests for more than two seconds', () => {
  expect([0, 30, 100, 60_000].map(restAfterGit)).toEqual([0, 60, 200, 2_000]);
});

it('the backoff doubles from a second to five minutes, with jitter', () => {
  expect([1, 2, 3, 9, 10, 1000].map((tries) => backoffMs(tries, () => 0))).toEqual([
    1_000, 2_000, 4_000, 256_000, 300_000, 300_000,
  ]);
  expect(backoffMs(3, () => 0.999)).toBeGreaterThanOrEqual(2_000);
});
