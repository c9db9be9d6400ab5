import type { Capacity } from '../../shared/capacity.ts';
import { oneLine } from '../../shared/errors.ts';
import type { RunOutcome } from '../../shared/outcome.ts';
import { type Clock, systemClock } from '../../shared/platform/clock.ts';
import type { RunStore } from '../store/store.ts';
import { couldTake } from './could-take.ts';
import { ExpiryTimer } from './expiry-timer.ts';
import { FreeCapacity } from './free-capacity.ts';
import { type Kept, KeptRoom } from './kept-room.ts';
import type { LeasedRun, LeaseQueue, LeaseRequest } from './queue.ts';
import type { RunEventHub } from './run-event-hub.ts';
import { processOf } from './session-id.ts';
import { shapeOf, toWake, toWakeBeside, toWakeNext, type Waiter } from './waiters.ts';

export interface LeaseQueueParts {
  readonly runs: RunStore;
  /** The one that the store was opened with. */
  readonly events: RunEventHub;
  readonly leaseMs: number;
  readonly maxCommands: number;
  /** A run that has waited so long for cores or memory has room kept for it. */
  readonly keepRoomAfterMs: number;
  /** Opened secrets of a repository, asked for trusted runs alone. */
  readonly secretsFor: (repository: string) => Promise<Record<string, string>>;
  /** A failure in the background: expiry that cannot be written, a lease that cannot be given back. */
  readonly onFault?: (error: unknown, where: string) => void;
  readonly clock?: Clock;
}

/** Gives every running lease its full time again, since a server that starts has heard nobody, and begins. */
export async function openLeaseQueue(parts: LeaseQueueParts): Promise<LeaseQueue> {
  await parts.runs.renewAll(parts.leaseMs);
  const queue = new WaitingLeaseQueue(parts);
  if ((await parts.runs.nextExpiry()) !== null) queue.expectExpiry();
  return queue;
}

interface Waiting extends Waiter {
  readonly free: FreeCapacity;
  readonly end: (run: LeasedRun | null) => void;
}

class WaitingLeaseQueue implements LeaseQueue {
  readonly #parts: LeaseQueueParts;
  readonly #expiry: ExpiryTimer;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  readonly #claims = new Set<Promise<void>>();
  readonly #clock: Clock;
  readonly #room: KeptRoom;
  readonly #unsubscribe: readonly (() => void)[];
  /** Counts what became leasable, so that a claim knows whether it looked before or after. */
  #changes = 0;
  #closed = false;

  constructor(parts: LeaseQueueParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
    const asks = (process: string) => [...this.#waiting].some((waiter) => waiter.process === process);
    this.#room = new KeptRoom(() => this.#clock.now(), asks);
    this.#expiry = new ExpiryTimer({
      runs: parts.runs,
      clock: this.#clock,
      leaseMs: parts.leaseMs,
      onFault: (error) => parts.onFault?.(error, 'lease expiry'),
    });
    const look = () => {
      this.#changes += 1;
      this.#wake(toWake(this.#waiting));
    };
    this.#unsubscribe = [
      parts.events.onLeasable(look),
      parts.events.onChange((run) => {
        if (this.#room.drop(run)) look();
      }),
    ];
  }

  expectExpiry(): void {
    this.#expiry.expect(this.#parts.leaseMs);
  }

  lease(request: LeaseRequest): Promise<LeasedRun | null> {
    if (this.#closed || request.signal.aborted) return Promise.resolve(null);
    this.#dismissPredecessor(request);
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | null = null;
      const leave = () => {
        if (timer) clearTimeout(timer);
        request.signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(waiter);
      };
      const said = { cpus: request.freeCpus, memoryBytes: request.freeMemoryBytes };
      const waiter: Waiting = {
        request,
        process: processOf(request.session.id),
        free: new FreeCapacity(said, request.session),
        shape: shapeOf(request, said, null),
        claiming: false,
        late: false,
        end: (run) => {
          leave();
          resolve(run);
        },
      };
      const onAbort = () => waiter.end(null);
      const onTime = () => {
        if (waiter.claiming) waiter.late = true;
        else waiter.end(null);
      };
      request.signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
      // The time to wait begins when the first look has found nothing.
      this.#claim(waiter).then(
        () => {
          if (!this.#waiting.has(waiter)) return;
          if (request.waitMs <= 0) onTime();
          else timer = setTimeout(onTime, request.waitMs);
          return;
        },
        (error: unknown) => {
          leave();
          reject(error);
        },
      );
    });
  }

  onChange(listener: (run: number) => void): () => void {
    return this.#parts.events.onChange(listener);
  }

  freed(session: string): void {
    this.#wake(toWakeBeside(this.#waiting, processOf(session)));
  }

  roomKept(): readonly Kept[] {
    return this.#room.list();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const waiter of this.#waiting) waiter.end(null);
    await Promise.allSettled(this.#claims);
    await this.#expiry.close();
  }

  /**
   * A slot that lost its connection asks again with its key on a new session, perhaps before the old one
   * is known to be dead: that one must not take the run from under it.
   */
  #dismissPredecessor(request: LeaseRequest): void {
    for (const waiter of this.#waiting) {
      const same =
        waiter.request.key === request.key && waiter.request.session.account === request.session.account;
      if (same) waiter.end(null);
    }
  }

  #wake(waiters: readonly Waiting[]): void {
    for (const waiter of waiters) {
      // What cannot be written now is tried at the next change; the request itself goes on waiting.
      this.#claim(waiter).catch((error: unknown) => this.#parts.onFault?.(error, 'lease'));
    }
  }

  #claim(waiter: Waiting): Promise<void> {
    const claim = this.#tryClaim(waiter);
    this.#claims.add(claim);
    return claim.finally(() => this.#claims.delete(claim));
  }

  /** Claims until it has a run, found nothing since the last change, or is waited for no more. */
  async #tryClaim(waiter: Waiting): Promise<void> {
    waiter.claiming = true;
    try {
      while (this.#waiting.has(waiter)) {
        const seen = this.#changes;
        const { shape } = waiter;
        const claimed = await this.#claimOnce(waiter);
        // It was to look for those who can take as much as it could then.
        if (waiter.shape !== shape) this.#wake(toWakeNext(this.#waiting, shape));
        if (claimed === null && seen === this.#changes) return;
        if (claimed === null || claimed === 'again') continue;
        if (!this.#waiting.has(waiter)) return await this.#giveBack(waiter.request, claimed.run);
        waiter.end(claimed);
        this.#wake(toWakeNext(this.#waiting, waiter.shape));
        this.#wake(toWakeBeside(this.#waiting, waiter.process));
        return;
      }
      // It left during a look that stood for all of its shape.
      this.#wake(toWake(this.#waiting));
    } finally {
      waiter.claiming = false;
      if (waiter.late) waiter.end(null);
    }
  }

  async #claimOnce(waiter: Waiting): Promise<LeasedRun | null | 'again'> {
    const { runs, leaseMs, maxCommands, keepRoomAfterMs } = this.#parts;
    const { request, process } = waiter;
    const { session } = request;
    let free: Capacity | null = null;
    const run = await runs.claim({
      account: session.account,
      session: session.id,
      machine: session.machine,
      key: request.key,
      labels: session.labels,
      repos: session.repos,
      free: (held) => {
        free = waiter.free.given(held);
        return free;
      },
      room: {
        total: session,
        queuedBefore: this.#clock.now() - keepRoomAfterMs,
        kept: () => this.#room.asked(process),
        keep: (starved) => this.#room.keep(process, starved),
        isAwaited: (wanted) =>
          [...this.#waiting].some(({ request: other }) => couldTake(other.session, wanted)),
      },
      leaseMs,
      maxCommands,
    });
    if (free !== null) waiter.shape = shapeOf(request, free, this.#room.keptBy(process));
    if (run === null) return null;
    this.#expiry.expect(leaseMs);
    if (run.trust !== 'trusted' || typeof run.spec !== 'object' || run.spec === null) return run;
    // an agent does what it reads: it is given none
    if ('agent' in run.spec && run.spec.agent !== null) return run;
    try {
      return { ...run, spec: { ...run.spec, secrets: await this.#parts.secretsFor(run.repository) } };
    } catch (error) {
      await this.#failWithoutSecrets(session.account, run, error);
      return 'again';
    }
  }

  /** A job never runs with half of its secrets, and no other runner would get more of them. */
  async #failWithoutSecrets(account: string, run: LeasedRun, error: unknown): Promise<void> {
    const outcome: RunOutcome = {
      result: 'failed',
      reason: 'host',
      detail: oneLine(error),
      steps: [],
      durationMs: 0,
    };
    await this.#parts.runs.record(account, run.run, run.attempt, outcome, 0);
  }

  /** It claimed while its session went away. On a session since, it is that one's and stays. */
  async #giveBack(request: LeaseRequest, claimed: number): Promise<void> {
    try {
      await this.#parts.runs.sessionEnded(request.session.id, ({ run }) => run === claimed);
    } catch (error) {
      this.#parts.onFault?.(error, 'giving a lease back');
    }
  }
}
