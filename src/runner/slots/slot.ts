import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { JobSpec } from '../../shared/job-spec.ts';
import type { RunOutcome } from '../../shared/outcome.ts';
import type { LifecycleMode } from '../lifecycle.ts';
import type { NextLease, RunEnd } from '../runs/reporter.ts';
import { RunInFlight, type RunServices } from '../runs/run-in-flight.ts';
import type { StopReason } from '../runs/run-outcomes.ts';
import type { LeaseRequest, RecordAndLease, SessionConnection } from '../session/session.ts';
import { GiveBacks } from './give-backs.ts';
import { parseJob } from './parse-job.ts';
import type { Resources } from './resources.ts';
import type { SessionLink } from './session-link.ts';
import { type SlotEvent, type SlotState, stepSlot } from './slot-machine.ts';

export interface SlotServices {
  readonly runs: RunServices;
  readonly resources: Resources;
  readonly leaseWaitMs: number;
  readonly once: boolean;
  readonly mode: () => LifecycleMode;
  /** Resolves when the disk has room for another run, or the signal aborts. */
  readonly room: (signal: AbortSignal) => Promise<void>;
  /** Whether it has now. */
  readonly hasRoom: () => boolean;
  /** Writes down that a slot asks with this key for a job that may be accepted by its reply; false where it cannot. */
  readonly noteLease: (slot: number, key: string) => boolean;
  /** What it noted last is to be asked for by the next start: the server may hold a job for it. */
  readonly leaveLease: (slot: number) => void;
  readonly onRefusedJob: (why: string) => void;
  readonly onRunStarted: (spec: JobSpec, slot: number) => void;
  readonly onRunEnded: (spec: JobSpec, slot: number, end: RunEnd) => void;
}

interface Job {
  readonly spec: JobSpec;
  readonly run: RunInFlight;
  readonly leaseSeconds: number;
  /**
   * Where it was accepted with the lease's reply, so that closing the session does not give it back: until when,
   * by `performance.now()`, it may begin without a heartbeat. Else null.
   */
  readonly beginBy: number | null;
  /** Gives back the cores and memory it claimed. */
  readonly release: () => void;
}

interface Asked {
  readonly key: string;
  readonly session: SessionConnection;
  readonly reply: RecordAndLease['leased'];
  /** By `performance.now()`. */
  readonly at: number;
  /** Until when a reply may come that accepts the job, by `performance.now()`; 0 where none does. */
  acceptsUntil: number;
}

/**
 * Of a lease, how much may have passed since it was asked for when its job begins without a heartbeat. It
 * began after that, so this much of it is left at least until the next heartbeat, whatever held the reply up.
 */
const BEGIN_SHARE = 1 / 3;
/** A server accepts by its reply only at once: so long after the record's reply none comes that does. */
const ACCEPTING_MS = 1_000;
/**
 * One slot of a runner process: connect, lease, run, report, again. What it does next is decided by
 * `stepSlot`; this class does it.
 */
export class Slot {
  readonly index: number;
  readonly #services: SlotServices;
  readonly #link: SessionLink;
  readonly #leaving = new AbortController();
  readonly #left: Promise<null>;
  #run: RunInFlight | null = null;
  #leasing: Asked | null = null;
  /** A lease that was asked for with the last record. */
  #asked: Asked | null = null;
  readonly #giveBacks: GiveBacks;

  constructor(index: number, services: SlotServices, link: SessionLink) {
    this.index = index;
    this.#services = services;
    this.#link = link;
    this.#giveBacks = new GiveBacks(link);
    this.#left = new Promise((resolve) => {
      this.#leaving.signal.addEventListener('abort', () => resolve(null));
    });
  }

  /** Until the slot has closed. Never rejects. */
  async loop(): Promise<void> {
    let state: SlotState<Job> = { at: 'asking', key: newKey() };
    while (state.at !== 'closed') {
      const event = await this.#act(state);
      // What was asked for already stands under its own key: asked again, it must be the same lease.
      const keyOfNext = (): string => this.#asked?.key ?? newKey();
      const context = { mode: this.#services.mode(), once: this.#services.once, newKey: keyOfNext };
      const next: SlotState<Job> = stepSlot(state, event, context);
      if (event.type === 'job' && next.at !== 'accepting') {
        event.job.release();
        if (event.job.beginBy !== null) await this.#giveBacks.job(event.job.spec);
      }
      state = next;
    }
    await this.#giveBackAsked();
    if (this.#giveBacks.pending) this.#services.leaveLease(this.index);
    await this.#link.close();
  }

  get running(): JobSpec | null {
    return this.#run?.spec ?? null;
  }

  /** Takes no more runs; a waiting lease is withdrawn, a run in flight goes on. */
  leave(): void {
    this.#leaving.abort();
    const leasing = this.#leasing;
    if (!leasing) return;
    const drop = (): void => {
      if (this.#leasing === leasing) this.#link.drop();
    };
    const waitMs = acceptsFor(leasing);
    if (waitMs > 0) setTimeout(drop, waitMs);
    else drop();
  }

  cancel(reason: StopReason, why: string): void {
    this.#run?.cancel(reason, why);
  }

  hurry(): void {
    this.#run?.hurry();
  }

  /** Gives up a run that has ended and waits for a server that is away: nobody knows how long. */
  giveUpReport(): void {
    if (this.#run?.reporting && this.#link.current === null) void this.#link.close();
  }

  kill(): void {
    this.#run?.kill();
    void this.#link.close();
  }

  /** After a reconnect: tells the server at once that the run lives. */
  reconnected(): void {
    this.#run?.beat();
  }

  async #act(state: SlotState<Job>): Promise<SlotEvent<Job>> {
    switch (state.at) {
      case 'asking':
        return await this.#ask(state.key);
      case 'accepting':
        return await this.#accept(state.job);
      case 'running':
        return await this.#execute(state.job);
      case 'closed':
        return { type: 'no-session' };
      default:
        return state satisfies never;
    }
  }

  async #ask(key: string): Promise<SlotEvent<Job>> {
    const asked = this.#asked;
    this.#asked = null;
    if (asked?.key === key) return await this.#answered(asked);
    // Connected first: the server is to see a slot that waits for room.
    if (!(await this.#sessionToAsk())) return this.#noSession();
    if (this.#giveBacks.pending && !this.#services.hasRoom()) await this.#giveBacks.noted();
    await this.#services.room(this.#leaving.signal);
    if (this.#leaving.signal.aborted) return { type: 'unanswered' };
    const session = await this.#sessionToAsk();
    if (!session) return this.#noSession();
    if (this.#leaving.signal.aborted) return { type: 'unanswered' };
    this.#giveBacks.settled();
    const reply = session.lease(this.#request(key));
    return await this.#answered({ key, session, reply, at: performance.now(), acceptsUntil: 0 });
  }

  async #answered(asked: Asked): Promise<SlotEvent<Job>> {
    this.#leasing = asked;
    const reply = await asked.reply;
    this.#leasing = null;
    switch (reply.type) {
      case 'idle':
        return { type: 'idle' };
      case 'disconnected':
        if (acceptsFor(asked) > 0) this.#giveBacks.note({ key: asked.key });
        return { type: 'unanswered' };
      case 'job':
        return await this.#received(asked, reply);
      default:
        return reply satisfies never;
    }
  }

  #request(key: string): LeaseRequest {
    const waitSeconds = Math.round(this.#services.leaseWaitMs / 1000);
    return { key, waitSeconds, ...this.#services.resources.free() };
  }

  /** The next lease, with the record of a job: what that claimed is free by then. */
  #nextLease(job: Job): NextLease {
    const { once, mode, hasRoom } = this.#services;
    let key = '';
    return {
      request: ({ reason }) => {
        if (once || mode() !== 'running' || reason === 'disk-full' || !hasRoom()) return null;
        key = newKey();
        if (!this.#services.noteLease(this.index, key)) return null;
        job.release();
        return this.#request(key);
      },
      asked: (session, reply) => {
        this.#asked = { key, session, reply, at: performance.now(), acceptsUntil: Infinity };
      },
    };
  }

  /** A slot that has nothing and leaves waits for no server that is away. */
  #sessionToAsk(): Promise<SessionConnection | null> {
    return Promise.race([this.#link.session(), this.#left]);
  }

  #noSession(): SlotEvent<Job> {
    return { type: this.#leaving.signal.aborted ? 'unanswered' : 'no-session' };
  }

  /** A spec that we cannot understand ends its run as refused, so that no other host gets it too. */
  async #received(
    { session, at }: Asked,
    reply: { run: number; attempt: number; spec?: unknown; accepted: boolean },
  ): Promise<SlotEvent<Job>> {
    const parsed = parseJob(reply.run, reply.attempt, reply.spec);
    if (!parsed.ok) {
      const why = `run ${reply.run}: ${parsed.why}`;
      await session.heartbeat(reply.run, reply.attempt);
      await session.record(reply.run, reply.attempt, refusedOutcome(parsed.why), 0);
      this.#services.onRefusedJob(why);
      return { type: 'job-refused' };
    }
    const release = this.#services.resources.take(parsed.spec);
    if (!release) {
      // Another slot of this process took the cores since we asked: closing gives the run back.
      if (reply.accepted) await this.#giveBacks.job(reply);
      else this.#link.drop();
      return { type: 'not-accepted' };
    }
    const { leaseSeconds } = session.welcome;
    const run = new RunInFlight(this.#services.runs, parsed.spec, this.#link);
    const beginBy = reply.accepted ? at + leaseSeconds * 1000 * BEGIN_SHARE : null;
    return { type: 'job', job: { spec: parsed.spec, run, leaseSeconds, beginBy, release } };
  }

  /**
   * The run is ours once the server has said so: until then it may have been given to another. What it holds
   * on this host is made meanwhile.
   */
  async #accept(job: Job): Promise<SlotEvent<Job>> {
    if (job.beginBy !== null && performance.now() < job.beginBy) return { type: 'accepted' };
    const session = this.#link.current;
    job.run.prepare();
    const reply = await session?.heartbeat(job.spec.run, job.spec.attempt);
    if (reply?.type === 'ok') return { type: 'accepted' };
    await job.run.giveUp();
    job.release();
    if (job.beginBy !== null && reply?.type !== 'stale') this.#giveBacks.note(job.spec);
    return reply?.type === 'stale' ? { type: 'not-accepted' } : { type: 'unanswered' };
  }

  /** A lease that was asked for with a record, and that the slot closes before it was answered. */
  async #giveBackAsked(): Promise<void> {
    const asked = this.#asked;
    this.#asked = null;
    if (asked) {
      const late = delay(acceptsFor(asked), null, { ref: false });
      const reply = await Promise.race([asked.reply, late]);
      if (reply?.type === 'job' && reply.accepted) await this.#giveBacks.job(reply);
      if (reply?.type === 'disconnected') this.#giveBacks.note({ key: asked.key });
    }
    await this.#giveBacks.noted();
  }

  async #execute(job: Job): Promise<SlotEvent<Job>> {
    this.#run = job.run;
    this.#services.onRunStarted(job.spec, this.index);
    const end = await job.run.execute(job.leaseSeconds, this.#nextLease(job));
    this.#run = null;
    if (this.#asked) this.#asked.acceptsUntil = performance.now() + ACCEPTING_MS;
    job.release();
    this.#services.onRunEnded(job.spec, this.index, end);
    return { type: 'ended' };
  }
}

/** For how long yet its reply may accept a job, in milliseconds. */
function acceptsFor({ acceptsUntil }: Asked): number {
  return Math.max(0, acceptsUntil - performance.now());
}

function newKey(): string {
  return randomBytes(12).toString('hex');
}

function refusedOutcome(why: string): RunOutcome {
  return { result: 'refused', reason: 'bad-job', detail: why, steps: [], durationMs: 0 };
}
