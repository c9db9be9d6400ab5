import { describe, expect, it } from 'vitest';
import { type SlotContext, type SlotState, stepSlot } from '../../../../src/runner/slots/slot-machine.ts';

const running: SlotContext = { mode: 'running', once: false, newKey: () => 'new' };
const asking: SlotState<string> = { at: 'asking', key: 'old' };
const accepting: SlotState<string> = { at: 'accepting', key: 'old', job: 'j' };
const busy: SlotState<string> = { at: 'running', job: 'j' };
const closed = { at: 'closed' };

describe('a slot', () => {
  it('asks again with the same key after a reply that never arrived', () => {
    expect(stepSlot(asking, { type: 'unanswered' }, running)).toEqual(asking);
    expect(stepSlot(accepting, { type: 'unanswered' }, running)).toEqual(asking);
  });

  it('asks with a new key after every answer', () => {
    const fresh = { at: 'asking', key: 'new' };
    expect(stepSlot(asking, { type: 'idle' }, running)).toEqual(fresh);
    expect(stepSlot(accepting, { type: 'not-accepted' }, running)).toEqual(fresh);
    expect(stepSlot(busy, { type: 'ended' }, running)).toEqual(fresh);
  });

  it('runs a job only once the server has accepted that it does', () => {
    expect(stepSlot(asking, { type: 'job', job: 'j' }, running)).toEqual(accepting);
    expect(stepSlot(accepting, { type: 'accepted' }, running)).toEqual(busy);
  });

  it('accepts nothing that arrives while the process drains', () => {
    const draining: SlotContext = { ...running, mode: 'draining' };
    expect(stepSlot(asking, { type: 'job', job: 'j' }, draining)).toEqual(closed);
    expect(stepSlot(asking, { type: 'unanswered' }, draining)).toEqual(closed);
    expect(stepSlot(busy, { type: 'ended' }, draining)).toEqual(closed);
  });

  it('closes with --once after one answer, idle or a run', () => {
    const once: SlotContext = { ...running, once: true };
    expect(stepSlot(asking, { type: 'idle' }, once)).toEqual(closed);
    expect(stepSlot(busy, { type: 'ended' }, once)).toEqual(closed);
    expect(stepSlot(asking, { type: 'unanswered' }, once)).toEqual(asking);
  });

  it('closes where the job is refused or no session is to come', () => {
    expect(stepSlot(asking, { type: 'job-refused' }, running)).toEqual(closed);
    expect(stepSlot(asking, { type: 'no-session' }, running)).toEqual(closed);
  });
});
