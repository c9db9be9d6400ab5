import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ExpiryTimer } from '../../../../src/server/queue/expiry-timer.ts';

const LEASE_MS = 60_000;

/** Clocks that a test moves by themselves, beside the timers that it moves. */
class TestClock {
  wallMs = 1_000_000_000;
  steadyMs = 0;
  now = () => this.wallMs;
  monotonic = () => this.steadyMs;
  pass(ms: number): void {
    this.wallMs += ms;
    this.steadyMs += ms;
  }
}

let clock: TestClock;
let leaseUntil: number | null;
let told: string[];
let timer: ExpiryTimer;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  clock = new TestClock();
  leaseUntil = clock.now() + LEASE_MS;
  told = [];
  timer = new ExpiryTimer({
    clock,
    leaseMs: LEASE_MS,
    onFault: (error) => told.push(String(error)),
    runs: {
      expire: async () => {
        if (leaseUntil === null || leaseUntil > clock.now()) return [];
        leaseUntil = null;
        told.push('expired');
        return [1];
      },
      renewAll: async () => {
        leaseUntil = clock.now() + LEASE_MS;
        told.push('renewed');
      },
      nextExpiry: async () => leaseUntil,
    },
  });
  timer.expect(LEASE_MS);
});

afterEach(async () => {
  await timer.close();
  vi.useRealTimers();
});

/** Time as it passes while nothing is wrong: the clocks and the timers together. */
async function live(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    clock.pass(500);
    await vi.advanceTimersByTimeAsync(500);
  }
}

describe('a lease that nobody renews', () => {
  it('expires when its time has passed, and not before', async () => {
    await live(LEASE_MS - 1_000);
    expect(told).toEqual([]);
    await live(2_000);
    expect(told).toEqual(['expired']);
  });

  it('gets its full time again where the wall clock was set forward or back', async () => {
    clock.wallMs += 3_600_000;
    await live(6_000);
    expect(told).toEqual(['renewed']);
    clock.wallMs -= 7_200_000;
    await live(6_000);
    expect(told).toEqual(['renewed', 'renewed']);
    await live(LEASE_MS + 1_000);
    expect(told).toEqual(['renewed', 'renewed', 'expired']);
  });

  it('gets its full time again where this process was stopped past it', async () => {
    await live(10_000);
    clock.pass(10 * LEASE_MS);
    await live(6_000);
    expect(told).toEqual(['renewed']);
    await live(LEASE_MS);
    expect(told).toEqual(['renewed', 'expired']);
  });

  it('expires in time although the process stalls for moments', async () => {
    await live(10_000);
    clock.pass(5_000);
    await live(LEASE_MS);
    expect(told).toEqual(['expired']);
  });
});
