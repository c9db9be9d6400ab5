import { CHANGE_ARTIFACT, type PublishRequest } from '../../shared/agent/result.ts';
import type { RunOutcome } from '../../shared/outcome.ts';
import type { Settled } from '../../shared/worker-messages.ts';
import {
  type LeaseRequest,
  type RecordAndLease,
  type Reply,
  type RunRecord,
  type SessionConnection,
  takesMore,
  takesRest,
} from '../session/session.ts';
import type { SessionLink } from '../slots/session-link.ts';
import { type Artifact, type ArtifactSent, sendArtifact } from './artifact-sender.ts';
import { LogSender } from './log-sender.ts';
import { publish, unlessAborted } from './publishing.ts';
import type { ReporterEvents } from './reporter-events.ts';
import type { SpoolReader } from './spool-reader.ts';

export type Reported = 'recorded' | 'stale' | 'abandoned';

/** The slot's next lease, which may be asked for in one breath with the record. */
export interface NextLease {
  /** Null where the slot may not ask just now. */
  request(ended: RunOutcome): LeaseRequest | null;
  asked(session: SessionConnection, reply: RecordAndLease['leased']): void;
}

export interface RunEnd {
  /** As it was recorded: a run that passed fails where the server refuses one of its artifacts. */
  readonly outcome: RunOutcome;
  readonly reported: Reported;
}

/**
 * At least this often, or a third of the lease where that is shorter. A heartbeat is also what brings
 * a cancel to a run whose steps say nothing, so it is how long a person waits for one.
 */
const HEARTBEAT_MS = 5_000;
/** A record that takes longer is written down here, so that a runner that dies meanwhile has not forgotten it. */
const SOON_MS = 1_000;

/**
 * What the server hears of one run: heartbeats on a timer of their own, so that they do not depend
 * on how busy the run or its log is, the log, the artifacts, and last the record.
 */
export class Reporter {
  readonly #link: SessionLink;
  readonly #run: { run: number; attempt: number };
  readonly #events: ReporterEvents;
  readonly #log: LogSender;
  readonly #artifacts: { readonly name: string; readonly sent: Promise<ArtifactSent> }[] = [];
  readonly #sending = new AbortController();
  #heartbeat: NodeJS.Timeout | null = null;
  /** The record is under way, and it may be its answer alone that was lost. */
  #recording = false;
  #ended: Reported | null = null;

  constructor(
    link: SessionLink,
    run: { run: number; attempt: number },
    spool: SpoolReader | null,
    events: ReporterEvents,
  ) {
    this.#link = link;
    this.#run = run;
    this.#events = events;
    this.#log = new LogSender(link, run, spool, {
      cancel: (why) => events.cancel(why),
      stale: (why) => this.#stale(why),
    });
  }

  startHeartbeats(leaseSeconds: number): void {
    const everyMs = Math.min(HEARTBEAT_MS, (leaseSeconds * 1000) / 3);
    this.#heartbeat = setInterval(() => void this.beat(), everyMs);
  }

  /** Beats at once, for instance after a reconnect. Not once the record may have arrived: of a run that has ended the server would call it stale. */
  async beat(): Promise<void> {
    // Asks for a session rather than taking the current one: the beat is what reconnects a slot
    // whose step says nothing for an hour.
    const session = await this.#link.session();
    if (!session || this.#ended || this.#recording) return;
    const reply = await session.heartbeat(this.#run.run, this.#run.attempt);
    if (reply.type === 'stale') this.#stale(reply.why);
    else if (reply.type === 'ok' && reply.cancel !== undefined) this.#events.cancel(reply.cancel);
  }

  /** The spool, for a run that is reported from before it has one. */
  attach(spool: SpoolReader): void {
    this.#log.attach(spool);
  }

  spooled(bytes: number): void {
    this.#log.grown(bytes);
  }

  artifact(artifact: Artifact): void {
    const before = this.#artifacts.at(-1)?.sent ?? Promise.resolve();
    const control = { signal: this.#sending.signal, cancel: (why: string) => this.#events.cancel(why) };
    const sent = before.then(() => sendArtifact(this.#link, this.#run, artifact, control));
    this.#artifacts.push({ name: artifact.name, sent });
  }

  /**
   * Has the server push the change that was handed in as an artifact before. Waits for that to have been
   * sent, then for what became of it; never rejects. `signal` ends the waiting.
   */
  async publish(request: PublishRequest, signal: AbortSignal): Promise<Settled> {
    const change = this.#artifacts.findLast(({ name }) => name === CHANGE_ARTIFACT);
    if (!change) return { state: 'failed', why: `there is no artifact ${CHANGE_ARTIFACT}` };
    const sent = await unlessAborted(change.sent, signal);
    if (sent !== 'aborted' && sent.end !== 'sent') {
      const why = sent.end === 'refused' ? sent.why : 'its sending was ended';
      return { state: 'failed', why: `the change could not be handed in: ${why}`.slice(0, 500) };
    }
    const events = {
      cancel: (why: string) => this.#events.cancel(why),
      stale: (why: string) => this.#stale(why),
    };
    return publish(this.#link, this.#run, request, events, signal);
  }

  /** Sends no more of the artifacts: nobody wants them of a run that is cancelled. */
  stopArtifacts(): void {
    this.#sending.abort();
  }

  /**
   * Sends what is left of the log and the artifacts, then the record, however often it takes. `amend` is
   * asked when all is sent: a large artifact takes long enough for somebody to cancel the run meanwhile.
   * `cut`: artifacts are missing, since `stopArtifacts` was called.
   */
  async finish(
    ended: RunOutcome,
    logLength: number,
    amend: (ended: RunOutcome, cut: boolean) => RunOutcome = (same) => same,
    nextLease: NextLease | null = null,
  ): Promise<RunEnd> {
    const { run, attempt } = this.#run;
    const keepRest = this.#artifacts.length === 0;
    const late = new LateRecord((outcome) => this.#events.unrecorded({ outcome, logLength }));
    const sending = Promise.all(this.#artifacts.map((artifact) => artifact.sent));
    void sending.then((sent) => late.change(ended, sent));
    const { length, rest } = await this.#log.finish(logLength, { keepRest });
    const sent = await sending;
    const cut = sent.some((artifact) => artifact.end === 'stopped');
    const outcome = withArtifacts(amend(ended, cut), sent);
    late.change(outcome, sent);
    const reported = await this.#record({ run, attempt, outcome, logLength: length, rest }, nextLease);
    late.end(reported);
    this.#end(reported);
    return { outcome, reported };
  }

  async #record(ended: RunRecord, next: NextLease | null): Promise<Reported> {
    const { logLength } = ended;
    let { rest } = ended;
    let nextLease = next;
    while (!this.#ended) {
      const session = await this.#link.session();
      if (!session) return 'abandoned';
      if (rest && !takesRest(session, rest.bytes.length)) {
        await this.#log.resend(rest.offset); // another server stands there since
        rest = null;
        continue;
      }
      this.#recording = true;
      const { recorded, asked } = this.#recordOn(session, { ...ended, rest }, nextLease);
      if (asked) nextLease = null;
      const reply = await recorded;
      if (reply.type === 'stale') return 'stale';
      if (reply.type === 'ok' && (reply.offset === undefined || reply.offset >= logLength)) return 'recorded';
      // Disconnected, or the server has less of the log than we thought: what is missing goes first.
      if (reply.type !== 'ok') continue;
      // The lease may wait for long, and nothing else can be sent on that session meanwhile.
      if (asked) session.destroy();
      this.#recording = false;
      rest = null;
      await this.#log.resend(reply.offset ?? 0);
    }
    return this.#ended;
  }

  #recordOn(
    session: SessionConnection,
    record: RunRecord,
    next: NextLease | null,
  ): { recorded: Promise<Reply<'ok' | 'stale'>>; asked: boolean } {
    const request = takesMore(session) ? (next?.request(record.outcome) ?? null) : null;
    if (!next || !request) {
      const { run, attempt, outcome, logLength, rest } = record;
      return { recorded: session.record(run, attempt, outcome, logLength, rest), asked: false };
    }
    const { recorded, leased } = session.recordAndLease(record, request);
    next.asked(session, leased);
    return { recorded, asked: true };
  }

  /** Ends without a record: nothing more is sent. */
  abandon(): void {
    this.#end('abandoned');
  }

  #stale(why: string): void {
    if (this.#ended) return;
    this.#end('stale');
    this.#events.stale(why);
  }

  #end(how: Reported): void {
    this.#ended ??= how;
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    this.#heartbeat = null;
    this.#log.stop();
  }
}

/** Has an outcome written down whose record takes long, and what it is changed to meanwhile. */
class LateRecord {
  /** As it would be recorded now; null while nothing can be. */
  #outcome: RunOutcome | null = null;
  readonly #write: (outcome: RunOutcome) => void;
  readonly #timer: NodeJS.Timeout;
  #written: RunOutcome | null = null;

  constructor(write: (outcome: RunOutcome) => void) {
    this.#write = write;
    this.#timer = setInterval(() => this.#look(), SOON_MS);
  }

  /** A run of which artifacts are left here alone is made again. */
  change(outcome: RunOutcome, sent: readonly ArtifactSent[]): void {
    const isWhole = sent.every((artifact) => artifact.end !== 'abandoned');
    this.#outcome = isWhole ? withArtifacts(outcome, sent) : null;
  }

  end(reported: Reported): void {
    clearInterval(this.#timer);
    if (reported === 'abandoned') this.#look();
  }

  #look(): void {
    if (this.#outcome === null || this.#outcome === this.#written) return;
    this.#written = this.#outcome;
    this.#write(this.#outcome);
  }
}

function withArtifacts(outcome: RunOutcome, sent: readonly ArtifactSent[]): RunOutcome {
  const refused = sent.find((one) => one.end === 'refused');
  if (refused?.end !== 'refused' || outcome.result !== 'passed') return outcome;
  return { ...outcome, result: 'failed', reason: 'artifact', detail: refused.why.slice(0, 500) };
}
