import { describe, expect, it } from 'vitest';
import type { LeaseRequest } from '../../../../src/server/queue/queue.ts';
import { shapeOf, toWake, toWakeNext } from '../../../../src/server/queue/waiters.ts';

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

describe('the shape of a request', () => {
  const request: LeaseRequest = {
    session: { id: 's', account: 'a', machine: 'm', labels: ['x', 'y'], repos: [] },
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
    expect(shapeOf(other)).toBe(shapeOf(request));
    expect(shapeOf({ ...request, freeCpus: 2 })).not.toBe(shapeOf(request));
    expect(shapeOf({ ...request, session: { ...request.session, repos: ['a/*'] } })).not.toBe(
      shapeOf(request),
    );
  });
});
