import type { LeaseRequest } from './queue.ts';

/** What decides which runs a request can take: of those alike, none gets what the first did not. */
export function shapeOf(request: LeaseRequest): string {
  const { labels, repos } = request.session;
  return JSON.stringify([[...labels].sort(), [...repos].sort(), request.freeCpus, request.freeMemoryBytes]);
}

/** A request that waits. Every one of these is woken, dismissed or timed out exactly once. */
export interface Waiter {
  readonly request: LeaseRequest;
  readonly shape: string;
  /** A claim for it is on its way to the store. */
  claiming: boolean;
}

/** Of one shape at a time, this many are woken by one change; the others follow as these get something. */
export const WAKE_AT_ONCE = 16;

/** Who is to try now, in the order in which they came. Those that try already do so again by themselves. */
export function toWake<W extends Pick<Waiter, 'shape' | 'claiming'>>(waiters: Iterable<W>): W[] {
  const trying = new Map<string, number>();
  const woken: W[] = [];
  for (const waiter of waiters) {
    const of = trying.get(waiter.shape) ?? 0;
    if (of >= WAKE_AT_ONCE) continue;
    trying.set(waiter.shape, of + 1);
    if (!waiter.claiming) woken.push(waiter);
  }
  return woken;
}
