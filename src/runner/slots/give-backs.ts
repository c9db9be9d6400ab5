import { setTimeout as delay } from 'node:timers/promises';
import { givenBack } from '../runs/run-outcomes.ts';
import { type SessionConnection, standingLease } from '../session/session.ts';
import type { SessionLink } from './session-link.ts';

/** A lease by its key, where its reply was lost; or a job that was accepted and not confirmed. */
type Unsettled = { readonly key: string } | { readonly run: number; readonly attempt: number };

/** What is given back must not hold up the end of a slot: past this it waits for its lease. */
const MOST_MS = 3_000;
const GIVEN_BACK = givenBack('the runner takes no more runs');

/**
 * Jobs that are a slot's, accepted with the reply to their lease, and that do not begin there. Closing the
 * session does not give these back: without a word they would wait until their lease ends.
 */
export class GiveBacks {
  readonly #link: Pick<SessionLink, 'session' | 'drop'>;
  #unsettled: Unsettled | null = null;

  constructor(link: Pick<SessionLink, 'session' | 'drop'>) {
    this.#link = link;
  }

  /** Something may be ours without our having it in hand: a connection went at the wrong moment. */
  note(unsettled: Unsettled): void {
    this.#unsettled = unsettled;
  }

  /** Whether there is something of that kind. */
  get pending(): boolean {
    return this.#unsettled !== null;
  }

  /** The lease is asked for again, with its key: what it brings is in hand. */
  settled(): void {
    this.#unsettled = null;
  }

  /** What the server has not answered for in time stays noted. */
  async job(job: { readonly run: number; readonly attempt: number }): Promise<void> {
    const { run, attempt } = job;
    if (!(await this.#tell((session) => session.record(run, attempt, GIVEN_BACK, 0)))) this.note(job);
  }

  /** What was noted, if anything is. The session may be another one afterwards. */
  async noted(): Promise<void> {
    const unsettled = this.#unsettled;
    this.#unsettled = null;
    if (!unsettled) return;
    if ('run' in unsettled) return await this.job(unsettled);
    // Asked again on another session it is not accepted any more, and given back when that closes.
    if (!(await this.#tell((session) => session.lease(standingLease(unsettled.key))))) this.note(unsettled);
    this.#link.drop();
  }

  /** Has it answered, if need be by the next session, within a bound; false where it was not. */
  async #tell(ask: (session: SessionConnection) => Promise<{ type: string }>): Promise<boolean> {
    const late = delay(MOST_MS, null, { ref: false });
    for (;;) {
      const session = await Promise.race([this.#link.session(), late]);
      const reply = session && (await Promise.race([ask(session), late]));
      if (reply?.type !== 'disconnected') return reply !== null;
    }
  }
}
