/** Time, as everything that decides by it receives it. */
export interface Clock {
  /** Epoch milliseconds of the wall clock: for people and records, never for durations. */
  now(): number;
  /** Milliseconds that only ever grow. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
