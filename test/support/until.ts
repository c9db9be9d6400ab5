import { setTimeout as delay } from 'node:timers/promises';

/** A look costs those that are waited for their time, so a long wait looks less often. */
const FIRST_MS = 20;
const MOST_MS = 100;
const OF_THE_WAIT = 0.05;

/**
 * Waits until `look` gives something other than null, undefined or false, for conditions of other
 * processes that no event tells of. Fails with `what` after the deadline.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  deadlineMs = 30_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const start = performance.now();
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false)
      return found as NonNullable<Exclude<T, false>>;
    const waited = performance.now() - start;
    if (waited > deadlineMs) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`);
    await delay(Math.min(MOST_MS, Math.max(FIRST_MS, waited * OF_THE_WAIT)));
  }
}
