import { setTimeout as delay } from 'node:timers/promises';

const TICKS = 40;
const TICK_MS = 25;

/**
 * What a promise gives, which must come within a second: counted in ticks of the event loop's own
 * clock, so that a machine on which everything is late is late with these as well.
 */
export async function withinASecond<T>(what: string, promised: Promise<T>): Promise<T> {
  const given = promised.then((value) => ({ value }));
  const over = new AbortController();
  const late = (async () => {
    for (let tick = 0; tick < TICKS && !over.signal.aborted; tick += 1) await delay(TICK_MS);
    return null;
  })();
  const first = await Promise.race([given, late]);
  over.abort();
  if (first === null) throw new Error(`not within a second: ${what}`);
  return first.value;
}
