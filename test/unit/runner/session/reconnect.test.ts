import { expect, test } from 'vitest';
import { backoffMs } from '../../../../src/runner/session/reconnect.ts';

test('waits grow to half a minute and are spread over half of themselves', () => {
  expect([1, 2, 3, 4].map((tries) => backoffMs(tries, 0))).toEqual([125, 250, 500, 1000]);
  expect(backoffMs(1, 0.999)).toBeLessThan(250);
  for (const tries of [8, 20, 1000, 1e9]) {
    expect(backoffMs(tries, 0)).toBe(15_000);
    expect(backoffMs(tries, 0.999)).toBeLessThanOrEqual(30_000);
  }
});
