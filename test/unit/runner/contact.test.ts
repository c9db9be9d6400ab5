import { describe, expect, it } from 'vitest';
import { type ContactEvent, FIRST_GAP_MS, noContact, noteContact } from '../../../src/runner/contact.ts';

const refused = { reason: 'unreachable', why: 'connect ECONNREFUSED' } as const;
const lost = (slot: number, atMs: number, facts: Partial<Extract<ContactEvent, { type: 'lost' }>> = {}) =>
  ({ type: 'lost', slot, atMs, tries: 1, disconnect: refused, ...facts }) as const;
const connected = (slot: number, atMs: number) => ({ type: 'connected', slot, atMs }) as const;

/** The lines that a process says as these happen. */
function said(events: readonly ContactEvent[], welcomed = true): string[] {
  let state = noContact(welcomed);
  return events.flatMap((event) => {
    const noted = noteContact(state, event);
    ({ state } = noted);
    return noted.says ? [`${noted.says.level} ${noted.says.line}`] : [];
  });
}

const slots = Array.from({ length: 16 }, (_, slot) => slot);

describe('sixteen slots that lose their server', () => {
  it('write one line together, and one when the last is back, with the time since the first was lost', () => {
    const away = slots.map((slot) => lost(slot, 1000 + slot));
    const tries = slots.map((slot) => lost(slot, 2000 + slot));
    const back = slots.map((slot) => connected(slot, 40_000 + slot * 100));
    expect(said([...away, ...tries, ...back])).toEqual([
      'warn connect ECONNREFUSED',
      'info connected again after 40.5 s',
    ]);
  });

  it('say each other cause once', () => {
    const auth = { reason: 'auth', why: 'it does not know this key' } as const;
    const events = slots.flatMap((slot) => [lost(slot, 1), lost(slot, 2, { disconnect: auth })]);
    expect(said([...events, ...events])).toEqual([
      'warn connect ECONNREFUSED',
      'warn it does not know this key',
    ]);
  });

  it('say the same again after a minute, and then after twice the time each', () => {
    const everySecond = Array.from({ length: 8 * 60 }, (_, at) => lost(at % 16, at * 1000));
    expect(said(everySecond)).toHaveLength(4);
    expect(said(everySecond.filter(({ atMs }) => atMs < FIRST_GAP_MS))).toHaveLength(1);
  });

  it('have nothing to wait for once those that are away have ended', () => {
    const after = [lost(0, 1), { type: 'left', slot: 0 } as const, lost(1, 2), connected(1, 1002)];
    expect(said(after)).toEqual([
      'warn connect ECONNREFUSED',
      'warn connect ECONNREFUSED',
      'info connected again after 1 s',
    ]);
  });
});

describe('a process that was never welcomed', () => {
  it('says once what --server is, and that it is connected', () => {
    const lines = said([lost(-1, 0), lost(-1, 1), connected(-1, 2000)], false);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(
      /^warn connect ECONNREFUSED; check the address and that `vole server` runs; .*--server/,
    );
    expect(lines[1]).toBe('info connected after 2 s');
  });

  it('says nothing where it is connected at once', () => {
    expect(said([connected(0, 5)], false)).toEqual([]);
  });
});

it('the line says how many slots are away, and why', () => {
  const first = noteContact(noContact(true), lost(3, 0)).state;
  const disconnect = { reason: 'busy', why: 'full' } as const;
  const second = noteContact(first, lost(4, 1, { disconnect, tries: 7 })).says;
  expect(second?.facts).toEqual({ reason: 'busy', tries: 7, slots: 2 });
});
