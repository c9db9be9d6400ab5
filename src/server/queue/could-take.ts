import { type Capacity, fits } from '../../shared/capacity.ts';
import { matchesRepository } from '../../shared/globs.ts';
import type { Wanted } from '../store/store.ts';
import type { Session } from './queue.ts';

type Offered = Pick<Session, 'labels' | 'repos'> & Capacity;

/** Whether a slot could take such a run if all of its process were free. */
export function couldTake(session: Offered, wanted: Wanted): boolean {
  return (
    matchesRepository(session.repos, wanted.repository) && hasLabels(session, wanted) && fits(wanted, session)
  );
}

export function hasLabels({ labels }: Pick<Offered, 'labels'>, wanted: Pick<Wanted, 'labels'>): boolean {
  return wanted.labels.every((label) => labels.includes(label));
}
