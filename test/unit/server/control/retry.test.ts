import { describe, expect, it } from 'vitest';
import { backoffMs, endOf, MOST_ATTEMPTS } from '../../../../src/server/control/retry.ts';

const failed = { type: 'failed', why: 'HTTP 500', retryAfterMs: null, asked: true } as const;

describe('the time between tries', () => {
  it('doubles up to a bound, half of it by chance', () => {
    expect([1, 2, 3, 4].map((failures) => backoffMs(failures, 1))).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect([1, 2, 3, 4].map((failures) => backoffMs(failures, 0))).toEqual([500, 1_000, 2_000, 4_000]);
    expect(backoffMs(19, 1)).toBe(600_000);
    expect(backoffMs(1_000, 0.5)).toBe(450_000);
  });

  it('lasts through an outage of more than an hour in all', () => {
    const waits = Array.from({ length: MOST_ATTEMPTS - 1 }, (_, at) => backoffMs(at + 1, 0));
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(3_600_000 * 0.75);
  });
});

describe('an attempt', () => {
  it('that failed is repeated, and counts', () => {
    expect(endOf(failed, 0, 1)).toEqual({ type: 'again', why: 'HTTP 500', inMs: 1_000, counts: true });
  });

  it('that failed often enough is the last', () => {
    expect(endOf(failed, MOST_ATTEMPTS - 2, 1)).toMatchObject({ type: 'again' });
    expect(endOf(failed, MOST_ATTEMPTS - 1, 1)).toEqual({ type: 'dead', why: 'HTTP 500' });
  });

  it('is repeated no sooner than the forge wants', () => {
    expect(endOf({ ...failed, retryAfterMs: 60_000 }, 0, 1)).toMatchObject({ inMs: 60_000, counts: true });
    expect(endOf({ ...failed, retryAfterMs: 10 }, 3, 1)).toMatchObject({ inMs: 8_000 });
  });

  it('that was not even made is none', () => {
    const closed = { ...failed, asked: false, retryAfterMs: 5_000 };
    expect(endOf(closed, MOST_ATTEMPTS + 5, 0)).toMatchObject({ type: 'again', inMs: 5_000, counts: false });
  });

  it('that can never succeed is the last at once', () => {
    expect(endOf({ type: 'impossible', why: 'locked' }, 0, 0)).toEqual({ type: 'dead', why: 'locked' });
  });
});
