import { commitMessage, publishRequest } from './change-texts.ts';
import { failureOf } from './failures.ts';
import { type FlowEvent, type FlowFacts, type FlowFailure, type Step, unexpected } from './flow.ts';
import { type ChangeFacts, changeReport, failureReport } from './report.ts';

export type HandInState =
  | { readonly at: 'committing'; readonly change: ChangeFacts }
  | { readonly at: 'publishing'; readonly change: ChangeFacts };

/** The end that flows with a change share: one commit of what was looked at last, then the push of it. */
export function handIn(
  facts: FlowFacts,
  change: ChangeFacts,
): Step<Extract<HandInState, { at: 'committing' }>> {
  const message = commitMessage(facts, change.said);
  return {
    state: { at: 'committing', change },
    effect: { type: 'commit', tree: change.snapshot.tree, message },
  };
}

export function handInNext(
  facts: FlowFacts,
  state: HandInState,
  event: FlowEvent,
  keepsSession: boolean,
): Step<HandInState | { readonly at: 'ended' }> {
  const { change } = state;
  if (state.at === 'committing') {
    if (event.type === 'committed') {
      const request = publishRequest(facts, change, event.commit);
      return { state: { at: 'publishing', change }, effect: { type: 'publish', request } };
    }
    if (event.type !== 'unusable') return unexpected(state, event);
    const failure = failureOf(event, 'the commit');
    const report = failureReport(change.said);
    return {
      state: { at: 'ended' },
      effect: {
        type: 'end',
        end: { failure, report, plan: null, rounds: change.rounds, change: null, keepsSession },
      },
    };
  }
  if (event.type !== 'published') return unexpected(state, event);
  const { published } = event;
  const failure: FlowFailure | null =
    published.state === 'failed'
      ? { result: 'failed', reason: 'push', why: `not pushed: ${published.why}` }
      : null;
  const made =
    published.state === 'pushed'
      ? {
          commit: published.commit,
          branch: published.branch,
          pull: published.pull,
          rebased: published.rebased,
        }
      : null;
  const report = changeReport(change, published, facts.run);
  return {
    state: { at: 'ended' },
    effect: {
      type: 'end',
      end: { failure, report, plan: null, rounds: change.rounds, change: made, keepsSession },
    },
  };
}
