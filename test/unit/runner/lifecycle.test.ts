import { describe, expect, it } from 'vitest';
import {
  advance,
  INITIAL,
  type LifecycleEvent,
  type LifecycleState,
  modeLine,
} from '../../../src/runner/lifecycle.ts';

const after = (...events: LifecycleEvent[]): LifecycleState => events.reduce(advance, INITIAL);
const signal = (atMs: number): LifecycleEvent => ({ type: 'signal', atMs });
const refusal = { code: 'runner-refused', why: 'no/* matches nothing' } as const;

describe('a runner process', () => {
  it('drains at the first signal and ends when its slots have closed', () => {
    const drained = after(signal(0), { type: 'slots-closed' });
    expect(after(signal(0)).mode).toBe('draining');
    expect(drained).toMatchObject({ mode: 'stopped', interrupted: false });
  });

  it('takes two signals within a second for one', () => {
    expect(after(signal(0), signal(10)).mode).toBe('draining');
    expect(after(signal(0), signal(999)).mode).toBe('draining');
  });

  it('cancels at a second signal and kills at a third', () => {
    expect(after(signal(0), signal(1000))).toMatchObject({
      mode: 'cancelling',
      interrupted: true,
      kill: false,
    });
    expect(after(signal(0), signal(1000), signal(2000)).kill).toBe(true);
    expect(after(signal(0), signal(1000), signal(1500)).kill).toBe(false);
  });

  it('treats the end of the drain timeout as a second signal, and only while it drains', () => {
    expect(after(signal(0), { type: 'drain-timeout' })).toMatchObject({
      mode: 'cancelling',
      interrupted: true,
    });
    expect(after({ type: 'drain-timeout' })).toBe(INITIAL);
  });

  it('kills when cancelling does not end within its bound', () => {
    expect(after(signal(0), signal(1000), { type: 'cancel-timeout' }).kill).toBe(true);
    expect(after(signal(0), { type: 'cancel-timeout' }).kill).toBe(false);
  });

  it('gives everything back when it refuses, also while it drains, and keeps the first reason', () => {
    const refused = after(signal(0), { type: 'refused', refusal });
    expect(refused).toMatchObject({ mode: 'cancelling', refusal });
    const again = advance(refused, { type: 'refused', refusal: { code: 'usage', why: 'another' } });
    expect(again.refusal).toBe(refusal);
  });

  it('only drains where the server no longer speaks its version', () => {
    const outdated = after({ type: 'outdated', refusal: { code: 'protocol-refused', why: 'too old' } });
    expect(outdated).toMatchObject({ mode: 'draining', refusal: { code: 'protocol-refused' } });
  });

  it('changes no more once it has stopped', () => {
    const stopped = after({ type: 'slots-closed' });
    expect(advance(stopped, signal(5))).toBe(stopped);
  });
});

describe('the line of a mode that has begun', () => {
  const times = { running: 2, drainMs: 3_600_000, cancelMs: 30_000 };

  it('says what is waited for, how long at most, and what the next signal does', () => {
    expect(modeLine('draining', times)).toBe(
      'runner is draining: it takes no more, and waits for 2 runs at most 1 h; a second signal ends what is left and gives it back to the queue',
    );
    expect(modeLine('cancelling', { ...times, running: 1 })).toBe(
      'runner is cancelling: it ends 1 run, which the queue gets back, in at most 30 s; a third signal kills what is left at once, unreported',
    );
  });

  it('says nothing of runs where there are none', () => {
    expect(modeLine('draining', { ...times, running: 0 })).toBe('runner is draining');
    expect(modeLine('stopped', times)).toBe('runner is stopped');
  });
});
