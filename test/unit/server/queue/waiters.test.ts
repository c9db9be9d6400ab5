import { describe, expect, it } from 'vitest';
import type { LeaseRequest } from '../../../../src/server/queue/queue.ts';
import { shapeOf, toWake, toWakeBeside, toWakeNext } from '../../../../src/server/queue/waiters.ts';

function waiter(name: string, shape: string, claiming = false) {
  return { name, shape, claiming };
}

function names(waiters: { name: string }[]): string[] {
  return waiters.map(({ name }) => name);
}

describe('who is woken by a change', () => {
  it('is the first of each shape', () => {
    const waiters = [waiter('a1', 'a'), waiter('b1', 'b'), waiter('a2', 'a')];
    expect(names(toWake(waiters))).toEqual(['a1', 'b1']);
  });

  it('is nobody of a shape of which one tries already', () => {
    expect(toWake([waiter('a1', 'a'), waiter('a2', 'a', true)])).toEqual([]);
    expect(toWake([waiter('a1', 'a', true), waiter('a2', 'a')])).toEqual([]);
  });
});

describe('who is woken by a success', () => {
  it('is the next two of the shape that do not try yet', () => {
    const waiters = [
      waiter('a1', 'a', true),
      waiter('b1', 'b'),
      ...['a2', 'a3', 'a4'].map((name) => waiter(name, 'a')),
    ];
    expect(names(toWakeNext(waiters, 'a'))).toEqual(['a2', 'a3']);
    expect(toWakeNext(waiters, 'c')).toEqual([]);
  });
});

describe('who is woken beside a slot that got a run', () => {
  it('is the first of its process that does not try yet', () => {
    const of = (name: string, process: string, claiming = false) => ({ name, process, claiming });
    const waiters = [of('p1', 'p', true), of('q1', 'q'), of('p2', 'p'), of('p3', 'p')];
    expect(names(toWakeBeside(waiters, 'p'))).toEqual(['p2']);
    expect(toWakeBeside(waiters, 'r')).toEqual([]);
  });
});

describe('the shape of a request', () => {
  const request: LeaseRequest = {
    session: { id: 's', account: 'a', machine: 'm', labels: ['x', 'y'], repos: [], cpus: 4, memoryBytes: 8 },
    key: 'k',
    freeCpus: 1,
    freeMemoryBytes: 2,
    waitMs: 0,
    signal: new AbortController().signal,
  };
  it('depends on what it can take, not on who asks', () => {
    const other = {
      ...request,
      key: 'l',
      session: { ...request.session, id: 't', account: 'b', labels: ['y', 'x'] },
    };
    const free = { cpus: 1, memoryBytes: 2 };
    const shape = shapeOf(request, free, null);
    expect(shapeOf(other, free, null)).toBe(shape);
    expect(shapeOf(request, { ...free, cpus: 2 }, null)).not.toBe(shape);
    expect(shapeOf(request, { ...free, memoryBytes: 3 }, null)).not.toBe(shape);
    expect(shapeOf({ ...request, session: { ...request.session, repos: ['a/*'] } }, free, null)).not.toBe(
      shape,
    );
    expect(shapeOf(request, free, 7)).not.toBe(shape);
  });
});
