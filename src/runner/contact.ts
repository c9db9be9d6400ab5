import { remedyOf } from '../shared/errors.ts';
import { formatDuration } from '../shared/units.ts';
import type { RunnerLog } from './options.ts';
import type { Disconnect } from './session/session.ts';

/**
 * What a process's log says of its connections to the server, as a pure function: of N slots that lose them
 * together a line for each cause, and one when the last of them is back.
 *
 * ```
 *             a slot lost: warn
 *  in touch -------------------> away --. another cause, or long quiet: warn
 *      ^                          | ^___|
 *      '-- the last is back: info-'
 * ```
 */
export interface Contact {
  /** Whether the server has taken this process before. */
  readonly welcomed: boolean;
  /** The slots without a session, that had one or tried; the first of them since `since`. */
  readonly away: ReadonlySet<number>;
  /** Monotonic ms; 0 while none is away. */
  readonly since: number;
  /** What was said since then, at most a handful. */
  readonly said: readonly string[];
  /** When something is said again though nothing is new, monotonic ms, and after how long the time after that. */
  readonly again: { readonly atMs: number; readonly gapMs: number };
}

export type ContactEvent =
  | { type: 'connected'; slot: number; atMs: number }
  | { type: 'lost'; slot: number; atMs: number; tries: number; disconnect: Disconnect }
  /** The slot has ended: it does not come back. */
  | { type: 'left'; slot: number };

export interface ContactLine {
  readonly level: 'info' | 'warn';
  readonly facts: object;
  readonly line: string;
}

export const FIRST_GAP_MS = 60_000;
export const MOST_GAP_MS = 15 * 60_000;
/** Causes that are worth a line of their own in one outage. */
const MOST_SAID = 8;

const IN_TOUCH = { away: new Set<number>(), since: 0, said: [], again: { atMs: 0, gapMs: 0 } };

export function noContact(welcomed: boolean): Contact {
  return { welcomed, ...IN_TOUCH };
}

export function noteContact(
  state: Contact,
  event: ContactEvent,
): { readonly state: Contact; readonly says: ContactLine | null } {
  switch (event.type) {
    case 'lost':
      return onLost(state, event);
    case 'connected': {
      const next = { ...without(state, event.slot), welcomed: true };
      if (!state.away.has(event.slot) || next.away.size > 0) return { state: next, says: null };
      const line = `${state.welcomed ? 'connected again' : 'connected'} after ${formatDuration(event.atMs - state.since)}`;
      return { state: next, says: { level: 'info', facts: {}, line } };
    }
    case 'left':
      return { state: without(state, event.slot), says: null };
    default:
      return event satisfies never;
  }
}

function onLost(state: Contact, event: Extract<ContactEvent, { type: 'lost' }>) {
  const { slot, atMs, tries, disconnect } = event;
  const { reason, why } = disconnect;
  const first = state.away.size === 0;
  const away = new Set(state.away).add(slot);
  const isNew = !state.said.includes(why) && state.said.length < MOST_SAID;
  const isDue = !first && atMs >= state.again.atMs;
  const next = { ...state, away, since: first ? atMs : state.since };
  if (!isNew && !isDue) return { state: next, says: null };
  const gapMs = isDue ? Math.min(MOST_GAP_MS, state.again.gapMs * 2) : FIRST_GAP_MS;
  const facts = { reason, tries, slots: away.size };
  // To one who has been connected the address is known to be right.
  const advised = first && !state.welcomed && reason === 'unreachable';
  const line = advised ? `${why}; ${remedyOf('server-unreachable')}` : why;
  return {
    state: { ...next, said: isNew ? [...state.said, why] : state.said, again: { atMs: atMs + gapMs, gapMs } },
    says: { level: 'warn', facts, line } as const,
  };
}

function without(state: Contact, slot: number): Contact {
  const away = new Set([...state.away].filter((one) => one !== slot));
  return away.size === 0 ? { ...state, ...IN_TOUCH } : { ...state, away };
}

/** Writes those lines. */
export class ContactLog {
  readonly #log: RunnerLog;
  #state: Contact;

  constructor(log: RunnerLog, welcomed: boolean) {
    this.#log = log;
    this.#state = noContact(welcomed);
  }

  connected(slot: number): void {
    this.#note({ type: 'connected', slot, atMs: performance.now() });
  }

  lost(slot: number, { tries, disconnect }: { tries: number; disconnect: Disconnect }): void {
    this.#note({ type: 'lost', slot, atMs: performance.now(), tries, disconnect });
  }

  left(slot: number): void {
    this.#note({ type: 'left', slot });
  }

  #note(event: ContactEvent): void {
    const { state, says } = noteContact(this.#state, event);
    this.#state = state;
    if (says) this.#log[says.level](says.facts, says.line);
  }
}
