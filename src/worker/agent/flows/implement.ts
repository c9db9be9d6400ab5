import {
  buildPrompt,
  followUpBuildPrompt,
  reviewChangePrompt,
  reviseChangePrompt,
} from '../prompts/build.ts';
import { VERDICT_AGAIN } from '../prompts/plan.ts';
import { agentFailed, failureOf } from './failures.ts';
import {
  type Flow,
  type FlowEvent,
  type FlowFacts,
  type FlowFailure,
  type Snapshot,
  type Step,
  unexpected,
} from './flow.ts';
import { followUpOf } from './follow-up.ts';
import { foreignSession } from './foreign-session.ts';
import { type HandInState, handIn, handInNext } from './hand-in.ts';
import { failureReport } from './report.ts';
import { isAnswer, noVerdict, reviewTurn, verdictOf } from './verdict.ts';

interface Round {
  readonly round: number;
  /** What the builder said of it. */
  readonly said: string;
}

export type ImplementState =
  | { readonly at: 'resuming' }
  | { readonly at: 'building'; readonly round: number }
  | ({ readonly at: 'looking' } & Round)
  | ({ readonly at: 'reviewing'; readonly snapshot: Snapshot; readonly again: boolean } & Round)
  | HandInState
  | { readonly at: 'ended' };

const KEEPS_SESSION = true;

/**
 * A change by the accepted plan. Each round the builder works, the work tree is looked at, and a session that
 * has seen nothing of it judges the difference:
 *
 *     resuming -> building -> looking -> reviewing -> committing -> publishing -> ended
 *                     ^--------------------/
 *
 * What is committed is the tree that was judged last. One that no round accepted is pushed too, since the work
 * and a person's look at it are worth more than the rounds; the pull request and the report say so, with the
 * points that are open, and the run has passed.
 */
export const implementFlow: Flow<ImplementState> = {
  begin(facts) {
    if (facts.spec.plan === null) {
      const failure = agentFailed('there is no accepted plan for this: give the command `plan` first');
      return ended(failure, 0, null);
    }
    const followUp = followUpOf(facts);
    switch (followUp.type) {
      case 'foreign':
        return { state: { at: 'ended' }, effect: foreignSession(followUp.engine, facts) };
      case 'resume':
        return { state: { at: 'resuming' }, effect: followUp };
      case 'new':
      case 'gone':
        return build(1, true, buildPrompt(facts, facts.spec.plan));
      default:
        return followUp satisfies never;
    }
  },

  next(facts, state, event) {
    const plan = facts.spec.plan ?? '';
    switch (state.at) {
      case 'resuming':
        if (event.type !== 'resumed') return failed(event, state, 'going on with the session', 0);
        return event.found
          ? build(1, false, followUpBuildPrompt(facts, plan))
          : build(1, true, buildPrompt(facts, plan));
      case 'building':
        // Whether it did something is told by the work tree, not by its words.
        if (isAnswer(event)) return look(state.round, event.type === 'said' ? event.text : '');
        return failed(event, state, `build ${state.round}`, state.round - 1);
      case 'looking':
        if (event.type !== 'snapshot') return failed(event, state, 'the change', state.round - 1, state.said);
        return looked(facts, plan, state, event.snapshot);
      case 'reviewing':
        return reviewed(facts, state, event);
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

function build(round: number, fresh: boolean, prompt: string): Step<ImplementState> {
  const request = { role: 'build', prompt, schema: null } as const;
  return {
    state: { at: 'building', round },
    effect: { type: 'turn', phase: `build ${round}`, session: 'author', fresh, request },
  };
}

function look(round: number, said: string): Step<ImplementState> {
  return { state: { at: 'looking', round, said }, effect: { type: 'snapshot' } };
}

function looked(
  facts: FlowFacts,
  plan: string,
  { round, said }: Round,
  snapshot: Snapshot,
): Step<ImplementState> {
  if (snapshot.files.length === 0) {
    return ended(agentFailed('the agent changed nothing'), round - 1, said);
  }
  const prompt = reviewChangePrompt(facts, plan, said, snapshot);
  return review({ at: 'reviewing', round, said, snapshot, again: false }, prompt);
}

function review(state: Extract<ImplementState, { at: 'reviewing' }>, prompt: string): Step<ImplementState> {
  return { state, effect: reviewTurn(state.round, state.again, prompt) };
}

function reviewed(
  facts: FlowFacts,
  state: Extract<ImplementState, { at: 'reviewing' }>,
  event: FlowEvent,
): Step<ImplementState> {
  const { round, said, snapshot } = state;
  if (!isAnswer(event)) return failed(event, state, `review ${round}`, round - 1, said);
  const verdict = verdictOf(event);
  if (verdict === null) {
    if (!state.again) return review({ ...state, again: true }, VERDICT_AGAIN);
    return ended(noVerdict(round), round - 1, said);
  }
  const accepted = verdict.verdict === 'accept';
  if (!accepted && round < facts.options.implementReviewRounds) {
    return build(round + 1, false, reviseChangePrompt(verdict.comments));
  }
  return handIn(facts, { said, snapshot, rounds: round, open: accepted ? null : verdict.comments });
}

function failed(
  event: FlowEvent,
  state: ImplementState,
  phase: string,
  rounds: number,
  said: string | null = null,
): Step<ImplementState> {
  if (event.type !== 'turn-failed' && event.type !== 'unusable') return unexpected(state, event);
  return ended(failureOf(event, phase), rounds, said);
}

function ended(failure: FlowFailure, rounds: number, said: string | null): Step<ImplementState> {
  const report = failureReport(said);
  return {
    state: { at: 'ended' },
    effect: {
      type: 'end',
      end: { failure, report, plan: null, rounds, change: null, keepsSession: KEEPS_SESSION },
    },
  };
}
