import { VoleError } from '../shared/errors.ts';
import type { RunOutcome } from '../shared/outcome.ts';
import type { RunnerOptions } from './options.ts';
import { Reporter } from './runs/reporter.ts';
import { givenBack } from './runs/run-outcomes.ts';
import { SpoolReader } from './runs/spool-reader.ts';
import { type Disconnect, standingLease } from './session/session.ts';
import { SessionLink } from './slots/session-link.ts';
import type { LeftLeases } from './sweep/left-leases.ts';
import type { DeadRun, Swept } from './sweep/sweep.ts';

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
 * runs of dead predecessors, with the rest of their logs, and gives back what they had not begun, so that only
 * a lost host has to wait for the lease. Gives the server's id, or null where `signal` aborted. Waits for a server that is away.
 */
export async function probe(
  options: RunnerOptions,
  engine: string,
  left: Pick<Swept, 'dead' | 'leases'>,
  signal: AbortSignal,
): Promise<string | null> {
  if (signal.aborted) return null;
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
    for (const run of left.dead) await report(link, run, session.welcome.server, options);
    for (const leases of left.leases) await giveBackAll(link, leases, options);
    return session.welcome.server;
  } finally {
    signal.removeEventListener('abort', abort);
    await link.close();
  }
}

/** For how long a result waits for a start that may report it. */
const FOREIGN_MS = 7 * 86_400_000;

/**
 * Runs of another server or account are not ours to report: their leases run out, but a result waits for a runner
 * of its own. One that could not be reported, since this runner was told to end meanwhile, keeps its tree: the next
 * start knows of it by that.
 */
async function report(
  link: SessionLink,
  run: DeadRun,
  server: string,
  options: RunnerOptions,
): Promise<void> {
  const { account } = options.endpoint;
  const isOurs = run.server === server && run.account === account;
  if (!isOurs && run.ended !== null && Date.now() - run.startedAt < FOREIGN_MS) {
    const facts = { run: run.run, attempt: run.attempt, server: run.server, account: run.account };
    options.log.info(facts, `${run.ended.outcome.result}: left to a runner of its server and account`);
    return run.putBack();
  }
  if (isOurs) {
    const spool = SpoolReader.left(run.spool);
    const nobody = (): void => {};
    const reporter = new Reporter(link, run, spool, { cancel: nobody, stale: nobody, unrecorded: nobody });
    const { outcome, logLength } = run.ended ?? { outcome: LOST, logLength: spool?.size ?? 0 };
    const { reported } = await reporter.finish(outcome, logLength);
    spool?.close();
    if (reported === 'abandoned') return;
    const said = reported === 'stale' ? 'over already, not reported' : `reported as ${outcome.result}`;
    options.log.info({ run: run.run, attempt: run.attempt, reported }, said);
  }
  run.dispose();
}

/** Their keys stay for the next start until the server has answered for all of them. */
async function giveBackAll(link: SessionLink, leases: LeftLeases, options: RunnerOptions): Promise<void> {
  for (const key of leases.keys) {
    if (!(await giveBack(link, key, options))) return;
  }
  leases.dispose();
}

/** A job that was accepted by the reply to its lease, and of which there is no tree. False where nobody answered. */
async function giveBack(link: SessionLink, key: string, options: RunnerOptions): Promise<boolean> {
  for (let session = await link.session(); session; session = await link.session()) {
    const leased = await session.lease(standingLease(key));
    if (leased.type === 'idle') return true;
    if (leased.type === 'disconnected') continue;
    const { run, attempt } = leased;
    const recorded = await session.record(run, attempt, givenBack('its runner died before it began'), 0);
    if (recorded.type === 'disconnected') continue;
    options.log.info({ run, attempt }, 'given back: its runner died before it began');
    return true;
  }
  return false;
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
