import { describe, expect, it } from 'vitest';
import { nextOf, type RunEvent, type RunFacts } from '../../../../src/server/queue/transitions.ts';
import { RUN_STATES } from '../../../../src/shared/outcome.ts';

const running: RunFacts = {
  state: 'running',
  lostCount: 0,
  retryLost: true,
  accepted: true,
  cancelWhy: null,
  authorised: false,
  prepared: true,
};
const queued: RunFacts = { ...running, state: 'queued', accepted: false };
const received: RunFacts = { ...queued, state: 'received' };

function record(result: 'passed' | 'failed' | 'interrupted' | 'lost' | 'cancelled'): RunEvent {
  return { type: 'recorded', outcome: { result, reason: null, detail: 'so it was' } };
}

const EVENTS: readonly RunEvent[] = [
  { type: 'leased' },
  { type: 'accepted' },
  { type: 'session-ended' },
  record('passed'),
  record('interrupted'),
  record('lost'),
  { type: 'expired' },
  { type: 'cancelled', why: 'not wanted' },
  { type: 'authorised' },
  { type: 'refused', why: 'may not' },
  { type: 'prepared' },
  { type: 'unpreparable', why: 'no such command' },
  { type: 'need-unpassed', key: 'lint', run: 1, state: 'failed' },
];

describe('a run that ended', () => {
  const final = RUN_STATES.slice(3);
  it.each(final)('%s is changed by nothing', (state) => {
    for (const event of EVENTS) expect(nextOf({ ...running, state }, event), event.type).toBeNull();
  });
});

describe('a running run', () => {
  it('ends as its outcome says', () => {
    for (const result of ['passed', 'failed', 'cancelled'] as const)
      expect(nextOf(running, record(result))).toMatchObject({ state: result, detail: 'so it was' });
  });

  it('is accepted once', () => {
    const accepted = nextOf({ ...running, accepted: false }, { type: 'accepted' });
    expect(accepted).toMatchObject({ state: 'running', accepted: true });
    expect(nextOf(running, { type: 'accepted' })).toBeNull();
  });

  it('keeps that it is to be cancelled when it is accepted', () => {
    const told = { ...running, accepted: false, cancelWhy: 'not wanted' };
    expect(nextOf(told, { type: 'accepted' })?.cancelWhy).toBe('not wanted');
  });

  it('is given back when its session ends before it is accepted, and not counted as lost', () => {
    const back = nextOf({ ...running, accepted: false, lostCount: 2 }, { type: 'session-ended' });
    expect(back).toMatchObject({ state: 'queued', lostCount: 2 });
    expect(nextOf(running, { type: 'session-ended' })).toBeNull();
  });

  it('is queued again when it was interrupted, and not counted as lost', () => {
    expect(nextOf({ ...running, lostCount: 2, retryLost: false }, record('interrupted'))).toMatchObject({
      state: 'queued',
      lostCount: 2,
    });
  });

  it.each([{ type: 'expired' } as const, record('lost')])('is lost at the third $type', (event) => {
    expect(nextOf(running, event)).toMatchObject({ state: 'queued', lostCount: 1 });
    expect(nextOf({ ...running, lostCount: 1 }, event)).toMatchObject({ state: 'queued', lostCount: 2 });
    expect(nextOf({ ...running, lostCount: 2 }, event)).toMatchObject({
      state: 'lost',
      lostCount: 3,
      reason: 'lost',
    });
  });

  it('is lost at the first where it may not be tried again', () => {
    const once = { ...running, retryLost: false };
    expect(nextOf(once, { type: 'expired' })).toMatchObject({ state: 'lost', lostCount: 1 });
    expect(nextOf(once, record('lost'))).toMatchObject({ state: 'lost', detail: 'so it was' });
  });

  it('goes on until it has been told of its cancelling, and the first reason stays', () => {
    const told = nextOf(running, { type: 'cancelled', why: 'first' });
    expect(told).toMatchObject({ state: 'running', accepted: true, cancelWhy: 'first' });
    expect(nextOf({ ...running, cancelWhy: 'first' }, { type: 'cancelled', why: 'second' })).toBeNull();
  });

  it('that is to be cancelled is not queued again, whatever ends it', () => {
    const told = { ...running, accepted: false, cancelWhy: 'not wanted' };
    for (const event of [
      { type: 'expired' },
      { type: 'session-ended' },
      record('interrupted'),
      record('lost'),
    ])
      expect(nextOf(told, event as RunEvent)).toMatchObject({
        state: 'cancelled',
        reason: 'cancelled',
        detail: 'not wanted',
      });
    expect(nextOf(told, record('passed'))).toMatchObject({ state: 'passed' });
  });
});

describe('a run that waits', () => {
  it('is leased only while queued', () => {
    expect(nextOf(queued, { type: 'leased' })).toMatchObject({ state: 'running', accepted: false });
    for (const facts of [received, running]) expect(nextOf(facts, { type: 'leased' })).toBeNull();
  });

  it('ends at once when it is cancelled', () => {
    for (const facts of [queued, received])
      expect(nextOf(facts, { type: 'cancelled', why: 'not wanted' })).toMatchObject({
        state: 'cancelled',
        detail: 'not wanted',
      });
  });

  it('is authorised or refused while received only', () => {
    expect(nextOf(received, { type: 'authorised' })).toMatchObject({ state: 'queued' });
    expect(nextOf(received, { type: 'refused', why: 'may not' })).toMatchObject({
      state: 'refused',
      reason: 'not-allowed',
      detail: 'may not',
    });
    for (const event of [{ type: 'authorised' }, { type: 'refused', why: '' }] as const) {
      expect(nextOf(queued, event)).toBeNull();
      expect(nextOf(running, event)).toBeNull();
    }
  });

  it('is cancelled by name where a job that it needs did not pass', () => {
    const ended = nextOf(queued, { type: 'need-unpassed', key: 'lint', run: 7, state: 'timed-out' });
    expect(ended).toMatchObject({
      state: 'cancelled',
      detail: 'it needs lint (run 7), which ended timed-out',
    });
  });

  it('takes no report', () => {
    for (const event of [record('passed'), { type: 'expired' }, { type: 'session-ended' }] as const)
      expect(nextOf(queued, event)).toBeNull();
  });
});

describe('a command that is received', () => {
  const asked: RunFacts = { ...received, prepared: false };
  const allowed: RunFacts = { ...asked, authorised: true };

  it('stays so when it is authorised, until what it executes is known', () => {
    expect(nextOf(asked, { type: 'authorised' })).toMatchObject({ state: 'received', authorised: true });
    expect(nextOf(allowed, { type: 'prepared' })).toMatchObject({ state: 'queued', authorised: true });
    expect(nextOf(allowed, { type: 'unpreparable', why: 'no such command' })).toMatchObject({
      state: 'failed',
      reason: 'workflow',
      detail: 'no such command',
    });
  });

  it('is authorised once, and refused only before', () => {
    expect(nextOf(allowed, { type: 'authorised' })).toBeNull();
    expect(nextOf(allowed, { type: 'refused', why: 'may not' })).toBeNull();
    expect(nextOf(asked, { type: 'refused', why: 'may not' })).toMatchObject({ state: 'refused' });
  });

  it('is not prepared before it is authorised', () => {
    expect(nextOf(asked, { type: 'prepared' })).toBeNull();
    expect(nextOf(asked, { type: 'unpreparable', why: 'x' })).toBeNull();
    expect(nextOf(asked, { type: 'leased' })).toBeNull();
    expect(nextOf(allowed, { type: 'leased' })).toBeNull();
  });

  it('may be cancelled at any time', () => {
    for (const run of [asked, allowed])
      expect(nextOf(run, { type: 'cancelled', why: 'no' })).toMatchObject({ state: 'cancelled' });
  });
});
