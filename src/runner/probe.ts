import { VoleError } from '../shared/errors.ts';
import type { RunOutcome } from '../shared/outcome.ts';
import type { RunnerOptions } from './options.ts';
import { Reporter } from './runs/reporter.ts';
import { SpoolReader } from './runs/spool-reader.ts';
import type { Disconnect } from './session/session.ts';
import { SessionLink } from './slots/session-link.ts';
import type { DeadRun } from './sweep/sweep.ts';

/** Reports that a run was lost with its runner; the server decides whether it is queued again. */
const LOST: RunOutcome = {
  result: 'lost',
  reason: 'lost',
  detail: 'its runner died',
  steps: [],
  durationMs: 0,
};

/**
 * One session before the slots': learns whether the server takes us and our filter, and reports the
 * runs of dead predecessors, with the rest of their logs, so that only a lost host has to wait for the
 * lease. Gives the server's id, or null where `signal` aborted. Waits for a server that is away.
 */
export async function probe(
  options: RunnerOptions,
  engine: string,
  dead: readonly DeadRun[],
  signal: AbortSignal,
): Promise<string | null> {
  let refused: Disconnect | null = null;
  const link = new SessionLink({
    connect: options.connect,
    endpoint: options.endpoint,
    hello: { ...options.hello, engine, slot: -1 },
    backoffMs: options.backoffMs,
    welcomed: false,
    onEvent: (event) => {
      if (event.type === 'refused') refused = event.disconnect;
      else if (event.type === 'disconnected') {
        const { reason, why } = event.disconnect;
        options.log.warn({ reason, tries: event.tries }, why);
      }
    },
  });
  const abort = (): void => void link.close();
  signal.addEventListener('abort', abort);
  try {
    const session = await link.session();
    if (!session) {
      if (refused) throw refusalOf(refused);
      return null;
    }
    for (const run of dead) await report(link, run, session.welcome.server, options);
    return session.welcome.server;
  } finally {
    signal.removeEventListener('abort', abort);
    await link.close();
  }
}

/** Runs of another server or account are not ours to report: their leases run out. */
async function report(
  link: SessionLink,
  run: DeadRun,
  server: string,
  options: RunnerOptions,
): Promise<void> {
  if (run.server === server && run.account === options.endpoint.account) {
    const spool = SpoolReader.left(run.spool);
    const reporter = new Reporter(link, run, spool, { cancel: () => {}, stale: () => {} });
    const { reported } = await reporter.finish(LOST, spool?.size ?? 0);
    spool?.close();
    options.log.info({ run: run.run, attempt: run.attempt, reported }, 'reported as lost');
  }
  run.dispose();
}

function refusalOf({ reason, code, why }: Disconnect): VoleError {
  switch (reason) {
    case 'auth':
      return new VoleError('auth-refused', why);
    case 'host-key':
      return new VoleError('protocol-refused', why);
    case 'not-ssh':
      return new VoleError('server-unreachable', why);
    case 'refused':
      return new VoleError(code === 'protocol' ? 'protocol-refused' : 'runner-refused', why);
    case 'busy':
    case 'closed':
    case 'protocol':
    case 'unreachable':
      return new VoleError('server-unreachable', why);
    default:
      return reason satisfies never;
  }
}
