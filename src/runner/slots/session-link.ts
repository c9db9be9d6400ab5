import { setTimeout as delay } from 'node:timers/promises';
import type { Connect, Disconnect, Endpoint, SessionConnection } from '../session/session.ts';

/** A connection that held this long starts the backoff anew. */
const HELD_MS = 5000;

/** Tries that a lease has time for at least. */
const LEASE_PARTS = 4;

type HelloFacts = Parameters<Connect>[1];

export interface LinkOptions {
  readonly connect: Connect;
  readonly endpoint: Endpoint;
  readonly hello: HelloFacts;
  /** Milliseconds before try number `tries` (from 1), jittered. */
  readonly backoffMs: (tries: number) => number;
  readonly onEvent: (event: LinkEvent) => void;
  /** This process has been welcomed before, on another link. */
  readonly welcomed: boolean;
}

export type LinkEvent =
  | { type: 'connected'; session: string }
  | { type: 'disconnected'; disconnect: Disconnect; tries: number }
  /** Final: this slot will never be welcomed. */
  | { type: 'refused'; disconnect: Disconnect };

/**
 * A slot's way to the server: a session while there is one, and the next one after that. Runs go on
 * while it is away. What is final before the first welcome (wrong host key, unknown key, no SSH) is
 * retried after it: a server that is being replaced must not end a runner with work in hand.
 */
export class SessionLink {
  readonly #options: LinkOptions;
  readonly #abort = new AbortController();
  #current: SessionConnection | null = null;
  #connecting: Promise<SessionConnection | null> | null = null;
  #welcomed: boolean;
  /** Tries since a connection last held. */
  #tries = 0;
  /** Between two tries: a run in hand is to be heard of several times within its lease. */
  #mostMs = Infinity;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#welcomed = options.welcomed;
  }

  /** The live session, connecting as long as it takes; null once closed or refused. */
  async session(): Promise<SessionConnection | null> {
    if (this.#abort.signal.aborted) return null;
    if (this.#current) return this.#current;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return await this.#connecting;
  }

  /** The live session, or null without trying for one. */
  get current(): SessionConnection | null {
    return this.#current;
  }

  /** Drops the session without `bye`: a waiting lease is withdrawn, a job not yet accepted given back. */
  drop(): void {
    this.#current?.destroy();
    this.#current = null;
  }

  /** Ends the link for good; resolves when the session is closed. Idempotent. */
  async close(): Promise<void> {
    const session = this.#current;
    this.#current = null;
    this.#abort.abort();
    await session?.close();
  }

  async #connect(): Promise<SessionConnection | null> {
    const { connect, endpoint, hello, backoffMs, onEvent } = this.#options;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      if (this.#tries > 0)
        await delay(Math.min(backoffMs(this.#tries), this.#mostMs), undefined, { signal }).catch(() => {});
      if (signal.aborted) return null;
      const result = await connect(endpoint, hello, { signal });
      if (signal.aborted) {
        if (result.ok) result.session.destroy();
        return null;
      }
      if (result.ok) return this.#adopt(result.session);
      if (this.#isFinal(result.disconnect)) {
        onEvent({ type: 'refused', disconnect: result.disconnect });
        return null;
      }
      this.#tries++;
      onEvent({ type: 'disconnected', disconnect: result.disconnect, tries: this.#tries });
    }
    return null;
  }

  #adopt(session: SessionConnection): SessionConnection {
    this.#welcomed = true;
    this.#mostMs = (session.welcome.leaseSeconds * 1000) / LEASE_PARTS;
    this.#current = session;
    this.#options.onEvent({ type: 'connected', session: session.welcome.session });
    const since = performance.now();
    void session.closed.then((disconnect) => {
      if (this.#current === session) this.#current = null;
      if (disconnect.reason === 'closed') return;
      // A server that welcomes and at once hangs up is not asked in a tight loop.
      this.#tries = performance.now() - since < HELD_MS ? this.#tries + 1 : 0;
      this.#options.onEvent({ type: 'disconnected', disconnect, tries: this.#tries });
    });
    return session;
  }

  #isFinal({ reason }: Disconnect): boolean {
    if (reason === 'refused') return true;
    return !this.#welcomed && (reason === 'host-key' || reason === 'auth' || reason === 'not-ssh');
  }
}
