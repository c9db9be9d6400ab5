/** One thing that may be evicted. */
export interface TrimEntry {
  readonly name: string;
  readonly bytes: number;
  /** Epoch ms. */
  readonly lastUsed: number;
}

/**
 * What to evict, in order, so that the total comes under the limit: least recently used first. Whether
 * each can be had is found out only when it is tried; what is busy is passed over, so callers go on
 * down this list until enough is gone.
 */
export function evictionOrder(entries: readonly TrimEntry[]): TrimEntry[] {
  return entries.toSorted((a, b) => a.lastUsed - b.lastUsed || (a.name < b.name ? -1 : 1));
}

export interface Eviction {
  readonly removed: readonly string[];
  /** In use, and so passed over. */
  readonly busy: readonly string[];
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** How far the total is still over the limit: what is in use may push it there until it finishes. */
  readonly overshootBytes: number;
}

/** Lets the event loop turn where it has been kept for long. */
export type Breathe = () => Promise<void>;

/** A pause for a walk over many things on the main thread: heartbeats go on meanwhile. */
export function breather(longestMs = 10): Breathe {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < longestMs) return;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    since = performance.now();
  };
}

/** Walks the order and evicts by `remove` until the total is within the limit. */
export async function evict(
  entries: readonly TrimEntry[],
  limitBytes: number,
  remove: (name: string) => 'removed' | 'busy' | 'kept',
): Promise<Eviction> {
  const bytesBefore = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  const removed: string[] = [];
  const busy: string[] = [];
  const breathe = breather();
  let total = bytesBefore;
  for (const entry of evictionOrder(entries)) {
    if (total <= limitBytes) break;
    await breathe();
    const result = remove(entry.name);
    if (result === 'busy') busy.push(entry.name);
    if (result !== 'removed') continue;
    removed.push(entry.name);
    total -= entry.bytes;
  }
  return { removed, busy, bytesBefore, bytesAfter: total, overshootBytes: Math.max(0, total - limitBytes) };
}
