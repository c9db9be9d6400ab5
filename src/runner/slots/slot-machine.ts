import type { LifecycleMode } from '../lifecycle.ts';

/**
 * One slot, as a pure function: what it does next, from what just happened.
 *
 * ```
 *   asking --job--> accepting --accepted--> running --ended--> asking (new key) or closed
 *     | ^   idle        |
 *     '-' (new key)     '-- not accepted: asking (same key)
 * ```
 *
 * A slot keeps its lease key until the server has said what became of it, so that a reply that never
 * arrived is asked for again and never becomes a second run. A job that arrives while the process
 * drains is not accepted: closing the session gives it back.
 */
export type SlotState<Job> =
  | { at: 'asking'; key: string }
  | { at: 'accepting'; key: string; job: Job }
  | { at: 'running'; job: Job }
  | { at: 'closed' };

export type SlotEvent<Job> =
  | { type: 'job'; job: Job }
  | { type: 'idle' }
  /** The connection went before the reply, or the lease was withdrawn. */
  | { type: 'unanswered' }
  /** The link is closed or refused: there is no other session to come. */
  | { type: 'no-session' }
  | { type: 'accepted' }
  /** The server gave the run to somebody else meanwhile, or it does not fit here any more. */
  | { type: 'not-accepted' }
  | { type: 'ended' }
  | { type: 'job-refused' };

export interface SlotContext {
  readonly mode: LifecycleMode;
  readonly once: boolean;
  readonly newKey: () => string;
}

export function stepSlot<Job>(
  state: SlotState<Job>,
  event: SlotEvent<Job>,
  context: SlotContext,
): SlotState<Job> {
  const working = context.mode === 'running';
  switch (event.type) {
    case 'job':
      return state.at === 'asking' && working
        ? { at: 'accepting', key: state.key, job: event.job }
        : { at: 'closed' };
    case 'idle':
      return working && !context.once ? { at: 'asking', key: context.newKey() } : { at: 'closed' };
    case 'unanswered':
      return working && (state.at === 'asking' || state.at === 'accepting')
        ? { at: 'asking', key: state.key }
        : { at: 'closed' };
    case 'accepted':
      return state.at === 'accepting' ? { at: 'running', job: state.job } : { at: 'closed' };
    case 'not-accepted':
      return working ? { at: 'asking', key: context.newKey() } : { at: 'closed' };
    case 'ended':
      return working && !context.once ? { at: 'asking', key: context.newKey() } : { at: 'closed' };
    case 'no-session':
    case 'job-refused':
      return { at: 'closed' };
    default:
      return event satisfies never;
  }
}
