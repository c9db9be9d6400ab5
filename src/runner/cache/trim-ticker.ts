import type { RunnerLog } from '../options.ts';
import type { Trimmer } from './trimmer.ts';

/** How often free space is looked at. */
const LOOK_MS = 15_000;
/** While it is too little: how soon it is looked at again. */
const LOOK_AGAIN_MS = 1_000;
/** And how soon it is trimmed again where that gave nothing: what is in use is measured each time. */
const TRIM_AGAIN_MS = 10_000;

/** When a directory is trimmed: on a ticker, and at once when too little is free, which also pauses leasing. */
export class TrimTicker {
  readonly #trimmer: Trimmer;
  readonly #intervalMs: number;
  readonly #log: RunnerLog;
  #trimTimer: NodeJS.Timeout | null = null;
  #lookTimer: NodeJS.Timeout | null = null;
  #trimming: Promise<void> | null = null;
  #low = false;
  #trimAgainAt = 0;
  #stopped = false;
  #waiting: (() => void)[] = [];

  constructor(trimmer: Trimmer, intervalMs: number, log: RunnerLog) {
    this.#trimmer = trimmer;
    this.#intervalMs = intervalMs;
    this.#log = log;
  }

  start(): void {
    this.#trimTimer = setInterval(() => void this.#trim(), this.#intervalMs);
    this.#trimTimer.unref();
    this.look();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#trimTimer) clearInterval(this.#trimTimer);
    if (this.#lookTimer) clearTimeout(this.#lookTimer);
    this.#wake();
  }

  get hasRoom(): boolean {
    return !this.#low || this.#stopped;
  }

  /** Resolves when there is room for another run, or the signal aborts. */
  async room(signal: AbortSignal): Promise<void> {
    while (this.#low && !this.#stopped && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  /** Looks at free space now, and again later. */
  look(): void {
    this.#trimAgainAt = 0;
    this.#look();
  }

  #look(): void {
    if (this.#stopped) return;
    if (this.#lookTimer) clearTimeout(this.#lookTimer);
    const low = this.#trimmer.isLow();
    if (low && !this.#low) this.#log.warn({}, 'less than --min-free is free: trimming, and leasing pauses');
    if (!low && this.#low) this.#log.info({}, 'there is room again: leasing goes on');
    this.#low = low;
    if (!low) this.#wake();
    else if (performance.now() >= this.#trimAgainAt) void this.#trim();
    this.#lookTimer = setTimeout(() => this.#look(), low ? LOOK_AGAIN_MS : LOOK_MS);
    this.#lookTimer.unref();
  }

  async #trim(): Promise<void> {
    this.#trimming ??= this.#trimmer.trim().then((trimmed) => {
      this.#trimming = null;
      const gaveNothing = trimmed?.cache.removed.length === 0 && trimmed.git.removed.length === 0;
      this.#trimAgainAt = gaveNothing ? performance.now() + TRIM_AGAIN_MS : 0;
    });
    await this.#trimming;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
