import { fixPrompt } from '../prompts/build.ts';
import { agentFailed, failureOf } from './failures.ts';
import { type Flow, type FlowEvent, type FlowFailure, type Step, unexpected } from './flow.ts';
import { type HandInState, handIn, handInNext } from './hand-in.ts';
import { failureReport } from './report.ts';
import { isAnswer } from './verdict.ts';

export type FixState =
  | { readonly at: 'building' }
  | { readonly at: 'looking'; readonly said: string }
  | HandInState
  | { readonly at: 'ended' };

const KEEPS_SESSION = false;

/**
 * One turn of a fresh session on a pull request's head, and what it changed is pushed without a review, since
 * a person looks at the pull request anyway:
 *
 *     building -> looking -> committing -> publishing -> ended
 */
export const fixFlow: Flow<FixState> = {
  begin(facts) {
    const request = { role: 'build', prompt: fixPrompt(facts), schema: null } as const;
    return {
      state: { at: 'building' },
      effect: { type: 'turn', phase: 'fix', session: 'author', fresh: true, request },
    };
  },

  next(facts, state, event) {
    switch (state.at) {
      case 'building':
        if (!isAnswer(event)) return failed(state, event, 'fix', null);
        return {
          state: { at: 'looking', said: event.type === 'said' ? event.text : '' },
          effect: { type: 'snapshot' },
        };
      case 'looking': {
        const { said } = state;
        if (event.type !== 'snapshot') return failed(state, event, 'the change', said);
        const { snapshot } = event;
        if (snapshot.files.length === 0) return ended(agentFailed('the agent changed nothing'), said);
        return handIn(facts, { said, snapshot, rounds: 0, open: undefined });
      }
      case 'committing':
      case 'publishing':
        return handInNext(facts, state, event, KEEPS_SESSION);
      case 'ended':
        return unexpected(state, event);
      default:
        return state satisfies never;
    }
  },
};

function failed(state: FixState, event: FlowEvent, phase: string, said: string | null): Step<FixState> {
  if (event.type !== 'turn-failed' && event.type !== 'unusable') return unexpected(state, event);
  return ended(failureOf(event, phase), said);
}

function ended(failure: FlowFailure, said: string | null): Step<FixState> {
  return {
    state: { at: 'ended' },
    effect: {
      type: 'end',
      end: {
        failure,
        report: failureReport(said),
        plan: null,
        rounds: 0,
        change: null,
        keepsSession: KEEPS_SESSION,
      },
    },
  };
}
