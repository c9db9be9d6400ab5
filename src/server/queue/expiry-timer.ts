import type { Clock } from '../../shared/platform/clock.ts';
import type { RunStore } from '../store/store.ts';

/** Longest sleep while leases run: a clock that was set, or a stall of this process, is noticed within it. */
const MAX_SLEEP_MS = 5_000;
/** After a failure (a full disk, mostly) it is tried again. */
const RETRY_MS = 1_000;
/** More than what a clock is slewed by between two looks. */
const JUMP_MS = 2_000;

interface Parts {
  readonly runs: Pick<RunStore, 'expire' | 'nextExpiry' | 'renewAll'>;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly onFault: (error: unknown) => void;
}

/**
 * One timer for all leases, set to the next that ends. Leases end by the wall clock, since they outlive the
 * process; where that clock was set, in either direction, or the host slept, every lease gets its full time
 * again, as when a server starts: nobody was silent, the time jumped. So it is where this process itself was
 * stopped for half a lease: the heartbeats that came meanwhile are still unread when its timers fire.
 */
export class ExpiryTimer {
  readonly #parts: Parts;
  #timer: NodeJS.Timeout | null = null;
  #dueAt = Number.POSITIVE_INFINITY;
  /** Wall clock minus steady clock at the last look. */
  #offset: number;
  #working: Promise<void> | null = null;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#offset = this.#offsetNow();
  }

  /** A lease that ends in `inMs` was given: wake in time for it. */
  expect(inMs: number): void {
    if (this.#timer === null && this.#working === null) this.#offset = this.#offsetNow();
    this.#arm(inMs);
  }

  /** Ends the timer, and what it has begun. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#disarm();
    await this.#working;
  }

  #arm(inMs: number): void {
    if (this.#closed) return;
    const sleepMs = Math.min(Math.max(inMs, 0), MAX_SLEEP_MS);
    const dueAt = this.#parts.clock.monotonic() + sleepMs;
    if (this.#timer !== null && this.#dueAt <= dueAt) return;
    this.#disarm();
    this.#dueAt = dueAt;
    // One more, since a timer may fire a fraction early, and the lease would still stand then.
    this.#timer = setTimeout(() => this.#fire(), Math.ceil(sleepMs) + 1);
    this.#timer.unref();
  }

  #disarm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    const lateMs = this.#parts.clock.monotonic() - this.#dueAt;
    const stalled = lateMs > Math.max(JUMP_MS, this.#parts.leaseMs / 2);
    this.#disarm();
    this.#working ??= this.#work(stalled).finally(() => {
      this.#working = null;
    });
  }

  async #work(stalled: boolean): Promise<void> {
    const { runs, clock, leaseMs } = this.#parts;
    try {
      const offset = this.#offsetNow();
      const jumped = Math.abs(offset - this.#offset) > JUMP_MS;
      this.#offset = offset;
      if (jumped || stalled) await runs.renewAll(leaseMs);
      else await runs.expire();
      const next = await runs.nextExpiry();
      if (next !== null) this.#arm(next - clock.now());
    } catch (error) {
      this.#parts.onFault(error);
      this.#arm(RETRY_MS);
    }
  }

  #offsetNow(): number {
    return this.#parts.clock.now() - this.#parts.clock.monotonic();
  }
}
