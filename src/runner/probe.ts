import { VoleError } from '../shared/errors.ts';
import type { RunOutcome } from '../shared/outcome.ts';
import { ContactLog } from './contact.ts';
import type { LeasedFrom } from './dir/lease-keys.ts';
import type { RunnerOptions } from './options.ts';
import { Reporter } from './runs/reporter.ts';
import { givenBack } from './runs/run-outcomes.ts';
import { SpoolReader } from './runs/spool-reader.ts';
import { type Disconnect, standingLease } from './session/session.ts';
import { SessionLink } from './slots/session-link.ts';
import type { LeftLeases } from './sweep/left-leases.ts';
import type { DeadRun, Swept } from './sweep/sweep.ts';

/** What its session says in place of a slot's number. */
const PROBE_SLOT = -1;

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
  const contact = new ContactLog(options.log, false);
  const link = new SessionLink({
    connect: options.connect,
    endpoint: options.endpoint,
    hello: { ...options.hello, engine, slot: PROBE_SLOT },
    backoffMs: options.backoffMs,
    welcomed: false,
    onEvent: (event) => {
      if (event.type === 'refused') refused = event.disconnect;
      else if (event.type === 'disconnected') contact.lost(PROBE_SLOT, event);
      else contact.connected(PROBE_SLOT);
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
    const { server, leaseSeconds } = session.welcome;
    const us: LeasedFrom = { server, account: options.endpoint.account };
    const reports = left.dead.flatMap((run) => (isToReport(run, us, options) ? [new Report(link, run)] : []));
    for (const report of reports) report.live(leaseSeconds);
    try {
      for (const report of reports) await report.finish(options);
    } finally {
      for (const report of reports) report.abandon();
    }
    for (const leases of left.leases) await giveBackAll(link, leases, us, options);
    return server;
  } finally {
    signal.removeEventListener('abort', abort);
    await link.close();
  }
}

/** For how long what is another's waits for a start that may report it. */
const FOREIGN_MS = 7 * 86_400_000;

function isOurs(one: LeasedFrom, us: LeasedFrom): boolean {
  return one.server === us.server && one.account === us.account;
}

function isRecent({ leftAt }: { readonly leftAt: number }): boolean {
  return Date.now() - leftAt < FOREIGN_MS;
}

/** Runs of another server or account are not ours to report: their leases run out, but a result waits for a runner of its own. */
function isToReport(run: DeadRun, us: LeasedFrom, { log }: Pick<RunnerOptions, 'log'>): boolean {
  if (isOurs(run, us)) return true;
  if (run.ended !== null && isRecent(run)) {
    const facts = { run: run.run, attempt: run.attempt, server: run.server, account: run.account };
    log.info(facts, `${run.ended.outcome.result}: left to a runner of its server and account`);
    run.putBack();
  } else run.dispose();
  return false;
}

/**
 * Of one dead run. One that could not be reported, since this runner was told to end meanwhile, keeps its tree: the
 * next start knows of it by that.
 */
class Report {
  readonly #run: DeadRun;
  readonly #spool: SpoolReader | null;
  readonly #reporter: Reporter;

  constructor(link: SessionLink, run: DeadRun) {
    const nobody = (): void => {};
    this.#run = run;
    this.#spool = SpoolReader.left(run.spool);
    this.#reporter = new Reporter(link, run, this.#spool, {
      cancel: nobody,
      stale: nobody,
      unrecorded: nobody,
    });
  }

  /** A result that waits for the logs of others to be sent keeps its lease. */
  live(leaseSeconds: number): void {
    if (this.#run.ended === null) return;
    this.#reporter.startHeartbeats(leaseSeconds);
    void this.#reporter.beat();
  }

  async finish({ log }: Pick<RunnerOptions, 'log'>): Promise<void> {
    const { run, attempt, ended } = this.#run;
    const { outcome, logLength } = ended ?? { outcome: LOST, logLength: this.#spool?.size ?? 0 };
    const { reported } = await this.#reporter.finish(outcome, logLength);
    this.#spool?.close();
    if (reported === 'abandoned') return;
    const said = reported === 'stale' ? 'over already, not reported' : `reported as ${outcome.result}`;
    log.info({ run, attempt, reported }, said);
    this.#run.dispose();
  }

  /** Idempotent. */
  abandon(): void {
    this.#reporter.abandon();
    this.#spool?.close();
  }
}

/** Their keys stay for the next start until the server has answered for all of them; another's for one of its own. */
async function giveBackAll(
  link: SessionLink,
  leases: LeftLeases,
  us: LeasedFrom,
  options: RunnerOptions,
): Promise<void> {
  const { from } = leases;
  if (from && !isOurs(from, us) && isRecent(leases)) return leases.putBack();
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
    const recorded = await session.record(run, attempt, givenBack('its runner ended before it began'), 0);
    if (recorded.type === 'disconnected') continue;
    options.log.info({ run, attempt }, 'given back: its runner ended before it began');
    return true;
  }
  return false;
}

function refusalOf({ reason, code, why }: Disconnect): VoleError {
  switch (reason) {
    case 'auth':
      return new VoleError('key-refused', why);
    case 'host-key':
      return new VoleError('host-key-refused', why);
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
