const FIRST_MS = 250;
const MOST_MS = 30_000;

/**
 * Milliseconds before try number `tries` (from 1): doubled each time up to half a minute, and
 * anywhere between half of that and all of it, so that the slots of many hosts do not come back to a
 * restarted server in one moment. `random` is in [0, 1).
 */
export function backoffMs(tries: number, random: number): number {
  const most = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(tries - 1, 20));
  return most / 2 + (most / 2) * random;
}
