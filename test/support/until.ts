import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until `look` gives something other than null, undefined or false, for conditions of other
 * processes that no event tells of. Fails with `what` after the deadline.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  deadlineMs = 30_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false)
      return found as NonNullable<Exclude<T, false>>;
    if (performance.now() > end) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`);
    await delay(20);
  }
}
