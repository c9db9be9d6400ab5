import type { FlowEvent, FlowFailure } from './flow.ts';

type Ended = Extract<FlowEvent, { type: 'turn-failed' } | { type: 'unusable' }>;

/** What a run is called whose turn, or whose workspace, ended so. */
export function failureOf(event: Ended, phase: string): FlowFailure {
  const why = `${phase}: ${event.why}`;
  if (event.type === 'unusable') return { result: 'failed', reason: event.reason, why };
  const { reason } = event;
  switch (reason) {
    case 'provider':
      return { result: 'failed', reason: 'provider', why };
    case 'timeout':
      return { result: 'timed-out', reason: 'timeout', why };
    case 'stopped':
      return { result: 'cancelled', reason: 'cancelled', why };
    case 'server':
    case 'no-answer':
      return { result: 'failed', reason: 'agent', why };
    default:
      return reason satisfies never;
  }
}

export function agentFailed(why: string): FlowFailure {
  return { result: 'failed', reason: 'agent', why };
}
