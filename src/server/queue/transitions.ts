import type { Reason, RunOutcome, RunState } from '../../shared/outcome.ts';
import { isFinal } from '../../shared/outcome.ts';

/** Leases of a run that may expire before it is given up. */
export const MAX_LOST = 3;

/** Of a run, what its transitions depend on. */
export interface RunFacts {
  readonly state: RunState;
  readonly lostCount: number;
  readonly retryLost: boolean;
  /** The first heartbeat of the lease has come. */
  readonly accepted: boolean;
  readonly cancelWhy: string | null;
  /** Of a command: whoever asked for it may. */
  readonly authorised: boolean;
  /** What it executes is known. */
  readonly prepared: boolean;
}

export type RunEvent =
  | { readonly type: 'leased' }
  | { readonly type: 'accepted' }
  | { readonly type: 'session-ended' }
  | { readonly type: 'recorded'; readonly outcome: Pick<RunOutcome, 'result' | 'reason' | 'detail'> }
  | { readonly type: 'expired' }
  | { readonly type: 'cancelled'; readonly why: string }
  | { readonly type: 'authorised' }
  | { readonly type: 'refused'; readonly why: string }
  | { readonly type: 'prepared' }
  /** What a command would execute cannot be found out. */
  | { readonly type: 'unpreparable'; readonly why: string }
  /** A job that it needs, itself or through others, ended without passing. */
  | { readonly type: 'need-unpassed'; readonly key: string; readonly run: number; readonly state: RunState };

/** What of the run is new. `reason` and `detail` say why it is not as a run would be that just goes on. */
export interface NextFacts {
  readonly state: RunState;
  readonly lostCount: number;
  readonly accepted: boolean;
  readonly authorised: boolean;
  readonly cancelWhy: string | null;
  readonly reason: Reason | null;
  readonly detail: string;
}

/**
 * The states of a run; null where the event changes nothing of it.
 *
 * ```
 * received --authorised--> queued --leased--> running --recorded--> passed failed timed-out
 *     |    (and prepared)  |  ^                  |                  cancelled refused lost
 *     +--refused, ---------+  +-- given back, ---+
 *        cancelled,               interrupted, lost (up to twice)
 *        unpreparable
 * ```
 */
export function nextOf(run: RunFacts, event: RunEvent): NextFacts | null {
  switch (event.type) {
    case 'leased':
      return run.state === 'queued' ? on(run, 'running') : null;
    case 'accepted':
      return run.state === 'running' && !run.accepted ? { ...on(run, 'running'), accepted: true } : null;
    case 'session-ended':
      return run.state === 'running' && !run.accepted ? again(run) : null;
    case 'recorded':
      return run.state === 'running' ? recorded(run, event.outcome) : null;
    case 'expired':
      return run.state === 'running' ? lost(run, 'the runner was silent until its lease ended') : null;
    case 'cancelled':
      return cancelled(run, event.why);
    case 'authorised':
      return run.state === 'received' ? authorised(run) : null;
    case 'refused':
      return awaitsAuthorisation(run) ? ended(run, 'refused', 'not-allowed', event.why) : null;
    case 'prepared':
      return awaitsPreparation(run) ? on(run, 'queued') : null;
    case 'unpreparable':
      return awaitsPreparation(run) ? ended(run, 'failed', 'workflow', event.why) : null;
    case 'need-unpassed':
      return isFinal(run.state) ? null : ended(run, 'cancelled', 'cancelled', needDetail(event));
    default:
      return event satisfies never;
  }
}

/** Whether a run that ended so cancels the other runs of its matrix. One that was cancelled has not failed. */
export function failsFast(state: RunState): boolean {
  return state === 'failed' || state === 'timed-out' || state === 'refused' || state === 'lost';
}

function awaitsAuthorisation(run: RunFacts): boolean {
  return run.state === 'received' && !run.authorised;
}

function awaitsPreparation(run: RunFacts): boolean {
  return run.state === 'received' && run.authorised && !run.prepared;
}

/** A command stays received until what it executes is known. */
function authorised(run: RunFacts): NextFacts | null {
  if (run.authorised) return null;
  return { ...on(run, run.prepared ? 'queued' : 'received'), authorised: true };
}

function recorded(
  run: RunFacts,
  { result, reason, detail }: Pick<RunOutcome, 'result' | 'reason' | 'detail'>,
): NextFacts {
  switch (result) {
    case 'passed':
    case 'failed':
    case 'timed-out':
    case 'cancelled':
    case 'refused':
      return ended(run, result, reason, detail);
    case 'interrupted':
      return again(run);
    case 'lost':
      return lost(run, detail || 'the runner ended without a report');
    default:
      return result satisfies never;
  }
}

/** One that a person wants cancelled is not tried again: nothing is left to tell it to. */
function again(run: RunFacts): NextFacts {
  if (run.cancelWhy !== null) return ended(run, 'cancelled', 'cancelled', run.cancelWhy);
  return on(run, 'queued');
}

function lost(run: RunFacts, detail: string): NextFacts {
  const counted = { ...run, lostCount: run.lostCount + 1 };
  if (run.cancelWhy !== null) return ended(counted, 'cancelled', 'cancelled', run.cancelWhy);
  if (run.retryLost && counted.lostCount < MAX_LOST) return on(counted, 'queued');
  const times = counted.lostCount > 1 ? `, ${counted.lostCount} times` : '';
  return ended(counted, 'lost', 'lost', `${detail}${times}`);
}

/** A running one stays so until its runner has been told and reports. The first who cancels says why. */
function cancelled(run: RunFacts, why: string): NextFacts | null {
  switch (run.state) {
    case 'received':
    case 'queued':
      return ended(run, 'cancelled', 'cancelled', why);
    case 'running':
      return run.cancelWhy === null
        ? { ...on(run, 'running'), accepted: run.accepted, cancelWhy: why }
        : null;
    case 'passed':
    case 'failed':
    case 'timed-out':
    case 'cancelled':
    case 'refused':
    case 'lost':
      return null;
    default:
      return run.state satisfies never;
  }
}

function on(run: RunFacts, state: 'received' | 'queued' | 'running'): NextFacts {
  return {
    state,
    lostCount: run.lostCount,
    accepted: false,
    authorised: run.authorised,
    cancelWhy: run.cancelWhy,
    reason: null,
    detail: '',
  };
}

function ended(run: RunFacts, state: RunState, reason: Reason | null, detail: string): NextFacts {
  return {
    state,
    lostCount: run.lostCount,
    accepted: run.accepted,
    authorised: run.authorised,
    cancelWhy: run.cancelWhy,
    reason,
    detail,
  };
}

function needDetail(need: { key: string; run: number; state: RunState }): string {
  return `it needs ${need.key} (run ${need.run}), which ended ${need.state}`;
}
