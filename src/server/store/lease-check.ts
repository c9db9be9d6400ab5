import { type CoreRow, stateOf } from './rows.ts';
import type { LeaseCheck } from './store.ts';

/**
 * Whether the account holds this lease. Ownership is the account's, not the session's: a slot that
 * reconnects speaks for its run on a new session. Two slots of one account look alike here, and that is
 * harmless, since the attempt must be the run's: only the holder of its latest lease knows that one.
 */
export function checkLease(row: CoreRow | undefined, account: string, attempt: number): LeaseCheck {
  if (!row) return { ok: false, why: 'there is no such run' };
  if (row.attempt !== attempt)
    return { ok: false, why: `attempt ${attempt} is over: the run is at attempt ${row.attempt}` };
  const state = stateOf(row.state);
  if (state !== 'running') return { ok: false, why: `the run is ${state}` };
  if (row.account !== account) return { ok: false, why: 'another account holds this run' };
  return { ok: true, cancelWhy: row.cancel_why };
}
