import type { Clock } from '../../shared/platform/clock.ts';

const MOST_MS = 3_600_000;
/** What a 429 that names no time asks for. */
const DEFAULT_MS = 1_000;

/** A forge that said "too many requests" is left alone until the time it named, by everybody with its token. */
export class RateGate {
  readonly #clock: Clock;
  #openAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whole milliseconds; 0 where it may be asked. */
  closedForMs(): number {
    return Math.max(0, Math.ceil(this.#openAt - this.#clock.monotonic()));
  }

  /** Null where the answer does not ask for it; otherwise for how long it is closed now. */
  note(status: number, headers: Headers): number | null {
    if (!isLimit(status, headers)) return null;
    const forMs = Math.min(MOST_MS, Math.max(DEFAULT_MS, wantedMs(headers, this.#clock.now()) ?? DEFAULT_MS));
    this.#openAt = Math.max(this.#openAt, this.#clock.monotonic() + forMs);
    return forMs;
  }
}

/** GitHub says 403 for it as well, and tells it from a refusal by its headers. */
function isLimit(status: number, headers: Headers): boolean {
  if (status === 429) return true;
  if (status === 503) return headers.has('retry-after');
  return status === 403 && (headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0');
}

/** `Retry-After` is seconds or a date; GitHub's reset is epoch seconds. */
function wantedMs(headers: Headers, nowMs: number): number | null {
  const after = headers.get('retry-after')?.trim();
  if (after !== undefined && /^\d{1,9}$/.test(after)) return Number(after) * 1000;
  if (after !== undefined && !Number.isNaN(Date.parse(after))) {
    // By the forge's own clock where it tells its time, since ours may be another.
    const theirNow = Date.parse(headers.get('date') ?? '');
    return Date.parse(after) - (Number.isNaN(theirNow) ? nowMs : theirNow);
  }
  const reset = headers.get('x-ratelimit-reset');
  return reset !== null && /^\d{1,12}$/.test(reset) ? Number(reset) * 1000 - nowMs : null;
}
