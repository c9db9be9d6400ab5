import { describe, expect, it } from 'vitest';
import { evict, evictionOrder, type Removed } from '../../../../src/runner/cache/plan-trim.ts';

const entry = (name: string, bytes: number, lastUsed: number) => ({ name, bytes, lastUsed });
const entries = [entry('new', 30, 3), entry('old', 10, 1), entry('mid', 20, 2)];

describe('the order of eviction', () => {
  it('is by last use, then by name', () => {
    const same = [entry('b', 1, 1), entry('a', 1, 1), entry('c', 1, 0)];
    expect(evictionOrder(same).map(({ name }) => name)).toEqual(['c', 'a', 'b']);
  });
});

describe('evicting', () => {
  it('asks for nothing where all is within the limit', async () => {
    const eviction = await evict(entries, 60, () => expect.unreachable());
    expect(eviction).toEqual({ removed: [], busy: [], bytesBefore: 60, bytesAfter: 60, overshootBytes: 0 });
  });

  it('stops as soon as the total is within the limit', async () => {
    expect(await evict(entries, 30, () => 'removed')).toMatchObject({
      removed: ['old', 'mid'],
      bytesAfter: 30,
    });
  });

  it('goes on past what is busy, kept or withstands, and says what is over', async () => {
    const answers: Record<string, Removed> = { old: 'busy', mid: 'kept', new: 'withstood' };
    const eviction = await evict(entries, 5, async (name) => answers[name] ?? 'removed');
    expect(eviction).toEqual({
      removed: [],
      busy: ['old'],
      bytesBefore: 60,
      bytesAfter: 60,
      overshootBytes: 55,
    });
  });
});
