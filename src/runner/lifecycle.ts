import { counted } from '../shared/counted.ts';
import type { ErrorCode } from '../shared/errors.ts';
import { formatDuration } from '../shared/units.ts';

/**
 * A runner process's way from start to end, as a pure function.
 *
 * ```
 *            signal                signal >= 1 s later,         all slots closed,
 *                                  drain timeout                or its own bound
 *  running ---------> draining ------------------> cancelling ------------------> stopped
 *     |                  |   \__ all slots closed __________________________________^
 *     |    refused       |                            ^
 *     '------------------'----------------------------'
 * ```
 *
 * A refusal overrides draining and keeps its reason to the end: it decides the exit status.
 */
export type LifecycleMode = 'running' | 'draining' | 'cancelling' | 'stopped';

/** Why a runner will not go on; the code gives its exit status. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly why: string;
}

export interface LifecycleState {
  readonly mode: LifecycleMode;
  /** Why the runner refuses to go on, or null. */
  readonly refusal: Refusal | null;
  /** Whether runs were given back before they had ended. */
  readonly interrupted: boolean;
  /** When the last signal that counted came, monotonic ms. */
  readonly signalledAt: number | null;
  /** Runs that do not end by themselves are killed and left: the last resort. */
  readonly kill: boolean;
}

export type LifecycleEvent =
  | { type: 'signal'; atMs: number }
  | { type: 'drain-timeout' }
  | { type: 'cancel-timeout' }
  /** Somebody will not wait: what runs is killed at once, and not reported. */
  | { type: 'kill' }
  /** A job or filter that this runner should never have been given: everything is given back. */
  | { type: 'refused'; refusal: Refusal }
  /** The server no longer speaks with this version: what still can report finishes. */
  | { type: 'outdated'; refusal: Refusal }
  | { type: 'slots-closed' };

export const INITIAL: LifecycleState = {
  mode: 'running',
  refusal: null,
  interrupted: false,
  signalledAt: null,
  kill: false,
};

/** A terminal's ctrl-C and a supervisor's TERM often come together: within this they are one. */
export const SIGNAL_GAP_MS = 1000;

export function advance(state: LifecycleState, event: LifecycleEvent): LifecycleState {
  if (state.mode === 'stopped') return state;
  switch (event.type) {
    case 'signal':
      return onSignal(state, event.atMs);
    case 'drain-timeout':
      return state.mode === 'draining' ? { ...state, mode: 'cancelling', interrupted: true } : state;
    case 'cancel-timeout':
      return state.mode === 'cancelling' ? { ...state, kill: true } : state;
    case 'kill':
      return { ...state, mode: 'cancelling', interrupted: true, kill: true };
    case 'refused':
      return { ...state, mode: 'cancelling', refusal: state.refusal ?? event.refusal };
    case 'outdated':
      return {
        ...state,
        mode: state.mode === 'running' ? 'draining' : state.mode,
        refusal: state.refusal ?? event.refusal,
      };
    case 'slots-closed':
      return { ...state, mode: 'stopped' };
    default:
      return event satisfies never;
  }
}

function onSignal(state: LifecycleState, atMs: number): LifecycleState {
  if (state.signalledAt !== null && atMs - state.signalledAt < SIGNAL_GAP_MS) return state;
  const signalled = { ...state, signalledAt: atMs };
  if (state.mode === 'running') return { ...signalled, mode: 'draining' };
  if (state.mode === 'draining') return { ...signalled, mode: 'cancelling', interrupted: true };
  return { ...signalled, interrupted: true, kill: true };
}

/** What the log says of a mode that has begun: what happens to what runs, how long at most, and what a signal would do. */
export function modeLine(
  mode: LifecycleMode,
  { running, drainMs, cancelMs }: { running: number; drainMs: number; cancelMs: number },
): string {
  const line = `runner is ${mode}`;
  if (running === 0 || mode === 'running' || mode === 'stopped') return line;
  const runs = counted(running, 'run');
  if (mode === 'draining') {
    const then = 'a second signal ends what is left and gives it back to the queue';
    return `${line}: it takes no more, and waits for ${runs} at most ${formatDuration(drainMs)}; ${then}`;
  }
  const then = 'a third signal kills what is left at once, unreported';
  return `${line}: it ends ${runs}, which the queue gets back, in at most ${formatDuration(cancelMs)}; ${then}`;
}
