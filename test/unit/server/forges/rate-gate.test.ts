import { describe, expect, it } from 'vitest';
import { RateGate } from '../../../../src/server/forges/rate-gate.ts';
import { TestClock } from '../../../support/store-rig.ts';

function gate() {
  const clock = new TestClock();
  return { clock, gate: new RateGate(clock) };
}

describe('a forge that wants to be left alone', () => {
  it.each([
    ['seconds', 429, { 'retry-after': '7' }, 7_000],
    ['nothing', 429, {}, 1_000],
    ['nonsense', 429, { 'retry-after': 'soon' }, 1_000],
    ['a day', 429, { 'retry-after': '86400' }, 3_600_000],
    ['a time that is past', 429, { 'retry-after': 'Wed, 01 Jan 2020 00:00:00 GMT' }, 1_000],
    ['an overload', 503, { 'retry-after': '3' }, 3_000],
    ['a second limit', 403, { 'retry-after': '60' }, 60_000],
  ])('says so with %s', (_, status, headers, ms) => {
    const { gate: one } = gate();
    expect(one.note(status, new Headers(headers))).toBe(ms);
    expect(one.closedForMs()).toBe(ms);
  });

  it('may name a date, by its own clock', () => {
    const headers = { 'retry-after': 'Wed, 01 Jan 2020 00:00:30 GMT', date: 'Wed, 01 Jan 2020 00:00:10 GMT' };
    expect(gate().gate.note(429, new Headers(headers))).toBe(20_000);
  });

  it('may say when its limit is renewed', () => {
    const { clock, gate: one } = gate();
    const reset = String(Math.floor(clock.now() / 1000) + 90);
    expect(one.note(403, new Headers({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }))).toBe(
      90_000,
    );
  });

  it('is asked again when the time is over, though the clock was set meanwhile', () => {
    const { clock, gate: one } = gate();
    one.note(429, new Headers({ 'retry-after': '10' }));
    clock.wall -= 3_600_000;
    clock.pass(9_998);
    clock.steady += 0.4;
    expect(one.closedForMs()).toBe(2);
    clock.pass(2);
    expect(one.closedForMs()).toBe(0);
  });

  it.each([
    [200, {}],
    [403, {}],
    [403, { 'x-ratelimit-remaining': '12' }],
    [500, {}],
    [503, {}],
  ])('is not one that answers %s with %o', (status, headers) => {
    const { gate: one } = gate();
    expect(one.note(status, new Headers(headers))).toBeNull();
    expect(one.closedForMs()).toBe(0);
  });
});
