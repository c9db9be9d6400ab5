import { setTimeout as delay } from 'node:timers/promises';
import type { OpencodeClient } from '@opencode-ai/sdk/v2/client';
import type { AgentAccess } from '../../../shared/agent/access.ts';
import { oneLine } from '../../../shared/errors.ts';

/** What a request gave. Nothing is thrown. */
export type Got<T> = { ok: true; data: T } | NotGot;

export interface NotGot {
  readonly ok: false;
  /** Null where no answer came at all. */
  readonly status: number | null;
  /** It was given up after its time, and may have been lost. */
  readonly late: boolean;
  readonly why: string;
}

/** What the SDK's client gives where it is told to throw nothing. */
interface Answer<T> {
  readonly data?: T | undefined;
  readonly error?: unknown;
  readonly response?: Response | undefined;
}

/** None of our requests takes long, but on a host that is busy the server may have no turn for many seconds. */
const ANSWER_MS = 60_000;
/** After this long a request that changes nothing is made anew, in case it was lost. */
const READ_MS = 10_000;
/** And so often where its connection breaks, as a server that has just started may do to the first. */
const BROKEN_TRIES = 3;
const BROKEN_MS = 100;

/** One agents' server, as it is reached now, and one directory on it. */
export class Connection {
  readonly access: AgentAccess;
  readonly client: OpencodeClient;

  private constructor(access: AgentAccess, client: OpencodeClient) {
    this.access = access;
    this.client = client;
  }

  /** Loads the SDK, which no other run needs. Rejects where it is not installed. */
  static async to(access: AgentAccess, directory: string): Promise<Connection> {
    const { createOpencodeClient } = await import('@opencode-ai/sdk/v2/client');
    const login = Buffer.from(`opencode:${access.password}`).toString('base64');
    return new Connection(
      access,
      createOpencodeClient({ baseUrl: access.url, directory, headers: { authorization: `Basic ${login}` } }),
    );
  }

  /** `until`: when nobody waits for the answer any more. */
  async ask<T>(
    send: (client: OpencodeClient, options: { signal: AbortSignal }) => Promise<Answer<T>>,
    { withinMs = ANSWER_MS, until }: { withinMs?: number; until?: AbortSignal } = {},
  ): Promise<Got<T>> {
    const late = AbortSignal.timeout(withinMs);
    try {
      const signal = until ? AbortSignal.any([late, until]) : late;
      const answer = await send(this.client, { signal });
      const status = answer.response?.status ?? null;
      if (answer.error === undefined && answer.response?.ok) return { ok: true, data: answer.data as T };
      return { ok: false, status, late: late.aborted, why: describe(answer.error, status) };
    } catch (error) {
      return { ok: false, status: null, late: late.aborted, why: describe(error, null) };
    }
  }

  /** The same for what changes nothing, which is asked again where no answer comes. */
  async read<T>(
    send: (client: OpencodeClient, options: { signal: AbortSignal }) => Promise<Answer<T>>,
    { withinMs = ANSWER_MS, until }: { withinMs?: number; until?: AbortSignal } = {},
  ): Promise<Got<T>> {
    const deadline = performance.now() + withinMs;
    for (let broken = 0; ; ) {
      const leftMs = Math.max(1, Math.min(READ_MS, deadline - performance.now()));
      const got = await this.ask(send, until ? { withinMs: leftMs, until } : { withinMs: leftMs });
      if (got.ok || got.status !== null || until?.aborted || performance.now() >= deadline) return got;
      if (got.late) continue;
      if (++broken >= BROKEN_TRIES) return got;
      await delay(BROKEN_MS);
    }
  }
}

/** The SDK's errors are objects of several kinds, and what `fetch` throws has its reason as its cause. */
function describe(error: unknown, status: number | null): string {
  if (error instanceof Error) {
    const { cause } = error;
    return oneLine(cause instanceof Error && status === null ? cause : error);
  }
  const { data, message } = (error ?? {}) as { data?: { message?: unknown }; message?: unknown };
  const said = data?.message ?? message;
  return typeof said === 'string' && said !== '' ? oneLine(said) : `it answered ${status ?? 'nothing'}`;
}
