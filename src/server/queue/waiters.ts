import type { Capacity } from '../../shared/capacity.ts';
import type { LeaseRequest } from './queue.ts';

/**
 * What decides which runs a request can take: of those alike, none gets what the first did not. `kept`: the run
 * that its process keeps room for, if any.
 */
export function shapeOf({ session }: LeaseRequest, free: Capacity, kept: number | null): string {
  const { labels, repos } = session;
  return JSON.stringify([[...labels].sort(), [...repos].sort(), free.cpus, free.memoryBytes, kept]);
}

/** A request that waits. Each ends exactly once: with a run, by time, by its signal, or by a successor. */
export interface Waiter {
  readonly request: LeaseRequest;
  /** What the ids of its process's sessions have in common. */
  readonly process: string;
  /** As of its latest look. */
  shape: string;
  /** A claim for it is on its way to the store; it looks again by itself where something changed since. */
  claiming: boolean;
  /** Its time passed during that claim, which decides: a run that is ours already is not given back. */
  late: boolean;
}

type Tried = Pick<Waiter, 'shape' | 'claiming'>;

/** Who is to try after a change: of each shape the first, unless one tries already. */
export function toWake<W extends Tried>(waiters: Iterable<W>): W[] {
  const first = new Map<string, W>();
  for (const waiter of waiters) {
    const known = first.get(waiter.shape);
    if (!known || (waiter.claiming && !known.claiming)) first.set(waiter.shape, waiter);
  }
  return [...first.values()].filter((waiter) => !waiter.claiming);
}

/**
 * Who is to try after one of the shape got a run, or was found to be of it no more: the next two, so that
 * many runs reach many waiters in a few turns, and one run does not make a thousand of them ask in vain.
 */
export function toWakeNext<W extends Tried>(waiters: Iterable<W>, shape: string): W[] {
  const woken: W[] = [];
  for (const waiter of waiters) {
    if (waiter.shape === shape && !waiter.claiming) woken.push(waiter);
    if (woken.length === 2) break;
  }
  return woken;
}

/**
 * Who is to try after a slot of the process got a run: the first of its others. What is free for those is
 * not what they saw when they looked last, before that slot ended a job perhaps.
 */
export function toWakeBeside<W extends Pick<Waiter, 'process' | 'claiming'>>(
  waiters: Iterable<W>,
  process: string,
): W[] {
  for (const waiter of waiters) {
    if (waiter.process === process && !waiter.claiming) return [waiter];
  }
  return [];
}
