import { expect, test } from 'vitest';
import { evict, type TrimEntry } from '../../../../src/runner/cache/plan-trim.ts';

const entry = (name: string, bytes: number, lastUsed: number): TrimEntry => ({ name, bytes, lastUsed });
const three = [entry('new', 10, 3), entry('old', 10, 1), entry('middle', 10, 2)];

test('the least recently used go first, and no more than needed', async () => {
  const tried: string[] = [];
  const eviction = await evict(three, 15, (name) => {
    tried.push(name);
    return 'removed';
  });
  expect(tried).toEqual(['old', 'middle']);
  expect(eviction).toMatchObject({ removed: ['old', 'middle'], bytesAfter: 10, overshootBytes: 0 });
});

test('what is busy is passed over and named, with what is then over the limit', async () => {
  const eviction = await evict(three, 5, (name) => (name === 'new' ? 'removed' : 'busy'));
  expect(eviction).toMatchObject({ removed: ['new'], busy: ['old', 'middle'], overshootBytes: 15 });
});

test('nothing is tried while the total is within the limit', async () => {
  const eviction = await evict(three, 30, () => {
    throw new Error('tried');
  });
  expect(eviction.removed).toEqual([]);
});

test('what was used meanwhile is kept and still counts', async () => {
  expect(await evict(three, 15, (name) => (name === 'old' ? 'kept' : 'removed'))).toMatchObject({
    removed: ['middle', 'new'],
    bytesAfter: 10,
  });
});
