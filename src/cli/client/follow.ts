import { setTimeout as delay } from 'node:timers/promises';
import { type ApiRunDetail, LOG_ATTEMPT_HEADER, runDetailSchema } from '../../shared/api.ts';
import { VoleError } from '../../shared/errors.ts';
import { isFinal } from '../../shared/outcome.ts';
import type { ApiClient } from './api-client.ts';

const RETRY_MS = 200;
const RETRY_MOST_MS = 2_000;
/** How long a server that was there may be away, as when it is started again. */
const AWAY_MS = 60_000;

export interface Follow {
  readonly client: ApiClient;
  readonly run: number;
  /** Null begins with the latest attempt; a later one is followed after it. */
  readonly attempt: number | null;
  /** Gets each byte once, in order; the next are read when it has resolved. */
  readonly onBytes: (bytes: Buffer) => Promise<void>;
  /** The run was given back to the queue: what comes now is another attempt's. */
  readonly onNextAttempt: (attempt: number) => Promise<void>;
  /** Once aborted, a server that is away is not waited for. */
  readonly signal?: AbortSignal;
}

/** Follows a run to its end over lost connections and restarts of the server; gives the ended run. */
export async function followRun(follow: Follow): Promise<ApiRunDetail> {
  let { attempt } = follow;
  let offset = 0;
  let awaySince: number | null = null;
  let waitMs = RETRY_MS;
  for (;;) {
    try {
      const query = new URLSearchParams({ follow: '1', offset: String(offset) });
      if (attempt !== null) query.set('attempt', String(attempt));
      const reply = await follow.client.stream(`/api/runs/${follow.run}/log?${query.toString()}`);
      attempt ??= Number(reply.headers[LOG_ATTEMPT_HEADER]);
      awaySince = null;
      waitMs = RETRY_MS;
      for await (const part of reply) {
        await follow.onBytes(part as Buffer);
        offset += (part as Buffer).length;
      }
      const run = await follow.client.get(`/api/runs/${follow.run}`, runDetailSchema);
      if (isFinal(run.state) && run.attempt <= attempt) return run;
      if (run.attempt > attempt || (run.attempt === attempt && run.state !== 'running')) {
        attempt = Math.max(attempt + 1, run.attempt);
        offset = 0;
        await follow.onNextAttempt(attempt);
        continue;
      }
      // the server is closing: the stream ended before the attempt did
    } catch (error) {
      if (!isAway(error) || follow.signal?.aborted) throw error;
      awaySince ??= performance.now();
      if (performance.now() - awaySince > AWAY_MS) throw error;
    }
    await delay(waitMs);
    waitMs = Math.min(RETRY_MOST_MS, waitMs * 2);
  }
}

/** A broken stream, or a server that does not answer; what it answers is final. */
function isAway(error: unknown): boolean {
  if (error instanceof VoleError) return error.code === 'server-unreachable';
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return (
    code === 'ECONNRESET' || code === 'EPIPE' || code === 'ETIMEDOUT' || code === 'ERR_STREAM_PREMATURE_CLOSE'
  );
}
