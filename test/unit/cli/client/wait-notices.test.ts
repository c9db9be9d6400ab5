import { describe, expect, it } from 'vitest';
import { nextToAsk, reasonKey, worthSaying } from '../../../../src/cli/client/wait-notices.ts';

const next = (text: string) => [{ code: 'next', text }];

describe('why a run waits', () => {
  it('is not said of its turn and its needs while other runs of its pipeline go on', () => {
    const turn = next('2 runs are leased before it, when a slot is free');
    expect(worthSaying(turn, true)).toBeNull();
    expect(worthSaying(turn, false)).toBe('2 runs are leased before it, when a slot is free');
    const both = [
      { code: 'labels', text: 'no connected runner has the labels gpu' },
      { code: 'needs', text: 'it needs lint (run 1, queued)' },
    ];
    expect(worthSaying(both, true)).toBe('no connected runner has the labels gpu');
    expect(worthSaying(both, false)).toBe(
      'no connected runner has the labels gpu; it needs lint (run 1, queued)',
    );
    expect(worthSaying([], false)).toBeNull();
  });

  it.each([
    ['a place in the queue', next('1 run is leased before it'), next('it is the next to be leased')],
    [
      'what is free',
      next('it is the next to be leased, when 4 cpus are free: beside an idle slot 2 are now'),
      next('3 runs are leased before it, when 4 cpus are free: beside an idle slot 1 are now'),
    ],
    [
      'an amount with its unit',
      [{ code: 'memory', text: 'it wants 64 GiB of memory, and the largest runner has 999 MiB' }],
      [{ code: 'memory', text: 'it wants 64 GiB of memory, and the largest runner has 1.5 GiB' }],
    ],
    [
      'tries',
      [{ code: 'received', text: 'the forge does not say (1 try): HTTP 503' }],
      [{ code: 'received', text: 'the forge does not say (2 tries): HTTP 503' }],
    ],
    [
      'needs that end',
      [{ code: 'needs', text: 'it needs a (run 1, running), b (run 2, queued)' }],
      [{ code: 'needs', text: 'it needs b (run 2, running)' }],
    ],
  ])('is the same where only %s changes', (_, before, after) => {
    expect(reasonKey(before)).toBe(reasonKey(after));
  });

  it.each([
    [
      'another code',
      [{ code: 'no-runner', text: 'no runner is connected' }],
      [{ code: 'labels', text: 'no connected runner has the labels gpu' }],
    ],
    [
      'what holds it back',
      next('it is the next to be leased, when a slot is free'),
      next('it is the next to be leased, when run 7 has begun, for which room is kept'),
    ],
    [
      'the state of the run before it',
      [{ code: 'serial', text: 'run 7 of the serial key deploy comes first and is queued' }],
      [{ code: 'serial', text: 'run 7 of the serial key deploy comes first and is running' }],
    ],
  ])('is another one where %s changes', (_, before, after) => {
    expect(reasonKey(before)).not.toBe(reasonKey(after));
  });
});

describe('asking why runs wait', () => {
  const runs = [
    { id: 1, job: 'a', state: 'running' as const },
    { id: 2, job: 'b', state: 'queued' as const },
    { id: 3, job: 'c', state: 'received' as const },
  ];
  const at = (nowMs: number, lastMs: number | null = null) => ({ firstMs: 0, lastMs, nowMs });

  it('begins after a few seconds and leaves some between two requests', () => {
    expect(nextToAsk(runs, new Map(), at(1_000))).toBeNull();
    expect(nextToAsk(runs, new Map(), at(5_000))?.id).toBe(2);
    expect(nextToAsk(runs, new Map([[2, 5_000]]), at(6_000, 5_000))).toBeNull();
  });

  it('takes turns among those that wait', () => {
    expect(nextToAsk(runs, new Map([[2, 5_000]]), at(10_000, 5_000))?.id).toBe(3);
    const both = new Map([
      [2, 5_000],
      [3, 10_000],
    ]);
    expect(nextToAsk(runs, both, at(15_000, 10_000))?.id).toBe(2);
  });

  it('is not done where none waits', () => {
    const begun = runs.map((run) => ({ ...run, state: 'running' as const }));
    expect(nextToAsk(begun, new Map(), at(60_000))).toBeNull();
  });
});
