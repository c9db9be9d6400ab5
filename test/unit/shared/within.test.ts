import { expect, test } from 'vitest';
import { within } from '../../../src/shared/within.ts';

test('what is settled in time is true, what is not is false, and a rejection is passed on', async () => {
  expect(await within(Promise.resolve(), 1_000)).toBe(true);
  expect(await within(new Promise(() => {}), 5)).toBe(false);
  await expect(within(Promise.reject(new Error('no')), 1_000)).rejects.toThrow('no');
});
