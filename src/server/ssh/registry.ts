import type { Presence, Session } from '../queue/queue.ts';

export interface EndedSession {
  readonly id: string;
  /** Attempts, as `run-attempt`, that were leased on it and are not given back with it. */
  readonly accepted: ReadonlySet<string>;
}

/** Leases that a replaced session may still have, which its successor now answers for. */
export interface Inheritance {
  /** That the leases stand on. */
  readonly sessions: readonly EndedSession[];
  /** Resolves when none of those sessions claims anything any more. */
  readonly settled: Promise<unknown>;
}

export interface Registered {
  readonly session: Omit<Session, 'run' | 'silentSince'>;
  /** Ends its connection: another one has taken its place, and its leases with it. */
  readonly replaced: () => Inheritance;
}

interface Entry extends Registered {
  run: Session['run'];
  asking: boolean;
  /** When it last asked or ran. */
  lastAt: number;
}

export interface SessionCaps {
  readonly sessions: number;
  readonly sessionsOfAccount: number;
}

/** The sessions that have been welcomed, and what each runs. In memory: it is what is connected now. */
export class SessionRegistry implements Presence {
  readonly #caps: SessionCaps;
  readonly #now: () => number;
  readonly #byId = new Map<string, Entry>();
  readonly #bySlot = new Map<string, string>();
  readonly #ofAccount = new Map<string, number>();

  constructor(caps: SessionCaps, now: () => number = Date.now) {
    this.#caps = caps;
    this.#now = now;
  }

  /**
   * Takes a session in, or says why there is no place. One of the same account, machine, process and
   * slot is replaced: it can only be what is left of a connection that the runner has given up.
   */
  admit(candidate: Registered): { ok: true; inherited: Inheritance | null } | { ok: false; why: string } {
    const { session } = candidate;
    const slot = slotKey(session);
    const before = this.#byId.get(this.#bySlot.get(slot) ?? '');
    if (!before) {
      const full = this.#full(session.account);
      if (full) return { ok: false, why: full };
    } else this.remove(before.session.id);
    this.#byId.set(session.id, { ...candidate, run: null, asking: false, lastAt: this.#now() });
    this.#bySlot.set(slot, session.id);
    this.#ofAccount.set(session.account, this.#countOf(session.account) + 1);
    return { ok: true, inherited: before?.replaced() ?? null };
  }

  /** Idempotent. */
  remove(id: string): void {
    const entry = this.#byId.get(id);
    if (!entry) return;
    this.#byId.delete(id);
    const slot = slotKey(entry.session);
    if (this.#bySlot.get(slot) === id) this.#bySlot.delete(slot);
    const left = this.#countOf(entry.session.account) - 1;
    if (left === 0) this.#ofAccount.delete(entry.session.account);
    else this.#ofAccount.set(entry.session.account, left);
  }

  setRun(id: string, run: Session['run']): void {
    const entry = this.#byId.get(id);
    if (!entry) return;
    entry.run = run;
    entry.lastAt = this.#now();
  }

  /** Whether a lease request of it waits. */
  setAsking(id: string, asking: boolean): void {
    const entry = this.#byId.get(id);
    if (!entry) return;
    entry.asking = asking;
    entry.lastAt = this.#now();
  }

  sessions(): readonly Session[] {
    return [...this.#byId.values()].map(({ session, run, asking, lastAt }) => ({
      ...session,
      run,
      silentSince: asking || run !== null ? null : lastAt,
    }));
  }

  #countOf(account: string): number {
    return this.#ofAccount.get(account) ?? 0;
  }

  #full(account: string): string | null {
    const { sessions, sessionsOfAccount } = this.#caps;
    if (this.#byId.size >= sessions) return `the server has its most sessions, ${sessions}`;
    if (this.#countOf(account) >= sessionsOfAccount)
      return `account ${account} has its most sessions, ${sessionsOfAccount}`;
    return null;
  }
}

function slotKey(session: Registered['session']): string {
  return JSON.stringify([session.account, session.machine, session.process, session.slot]);
}
