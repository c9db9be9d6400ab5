import { setTimeout as delay } from 'node:timers/promises';
import type { PublishRequest } from '../../shared/agent/result.ts';
import { PUBLISH_PROTOCOL_VERSION } from '../../shared/protocol/messages.ts';
import type { Settled } from '../../shared/worker-messages.ts';
import type { SessionLink } from '../slots/session-link.ts';
import type { ReporterEvents } from './reporter-events.ts';

const EVERY_MS = 1_000;

/**
 * Asks the server for a change to be pushed until it says what became of it, over as many sessions as it
 * takes. Never rejects. `signal` ends the asking; the server learns of a cancel by itself.
 */
export async function publish(
  link: Pick<SessionLink, 'session'>,
  { run, attempt }: { run: number; attempt: number },
  request: PublishRequest,
  events: Pick<ReporterEvents, 'cancel' | 'stale'>,
  signal: AbortSignal,
): Promise<Settled> {
  while (!signal.aborted) {
    const session = await unlessAborted(link.session(), signal);
    if (session === 'aborted') break;
    if (session === null) return failed('the runner has no connection to the server any more');
    if (session.welcome.protocol < PUBLISH_PROTOCOL_VERSION)
      return failed('the server is too old to push a change: update it');
    const reply = await unlessAborted(session.publish(run, attempt, request), signal);
    if (reply === 'aborted') break;
    if (reply.type === 'stale') {
      events.stale(reply.why);
      return failed(`the run is not this runner's any more: ${reply.why}`);
    }
    if (reply.type === 'disconnected') continue;
    if (reply.cancel !== undefined) events.cancel(reply.cancel);
    const { published } = reply;
    if (published === undefined) return failed('the server did not say what became of the change');
    if (published.state !== 'pending') return published;
    await delay(EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return failed('the run was stopped while its change was being pushed');
}

function failed(why: string): Settled {
  return { state: 'failed', why: why.slice(0, 500) };
}

export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | 'aborted'> {
  let end = (): void => {};
  const aborted = new Promise<'aborted'>((resolve) => {
    end = () => resolve('aborted');
  });
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
