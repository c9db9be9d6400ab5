import { createHash, randomBytes } from 'node:crypto';
import type { Session } from './queue.ts';

type OfProcess = Pick<Session, 'account' | 'machine' | 'process'>;

/**
 * An id for one session, which begins with that of its runner process: so the runs of a process are found
 * by the sessions that they stand on, also by a server that has started since.
 */
export function newSessionId({ account, machine, process }: OfProcess): string {
  const hash = createHash('sha256').update(JSON.stringify([account, machine, process]));
  return `${hash.digest('hex').slice(0, 16)}-${randomBytes(8).toString('hex')}`;
}

/** What the ids of all sessions of one process have in common. */
export function processOf(session: string): string {
  return session.split('-', 1)[0] ?? session;
}

/** The bounds, below and above, of those ids. */
export function siblingsOf(session: string): { readonly from: string; readonly to: string } {
  const process = processOf(session);
  // the character after the dash
  return { from: `${process}-`, to: `${process}.` };
}
