import { counted } from '../../../shared/counted.ts';
import {
  draftPrompt,
  explorePrompt,
  followUpPlanPrompt,
  reviewPlanPrompt,
  revisePlanPrompt,
  VERDICT_AGAIN,
} from '../prompts/plan.ts';
import { agentFailed, failureOf } from './failures.ts';
import {
  type Effect,
  type Flow,
  type FlowEvent,
  type FlowFacts,
  type FlowFailure,
  type Step,
  unexpected,
} from './flow.ts';
import { followUpOf } from './follow-up.ts';
import { foreignSession } from './foreign-session.ts';
import { failureReport, MOST_PLAN, planReport, quotable } from './report.ts';
import { isAnswer, noVerdict, reviewTurn, verdictOf } from './verdict.ts';

export type PlanState =
  | { readonly at: 'resuming' }
  | { readonly at: 'exploring' }
  /** `before`: the draft of the round before. */
  | { readonly at: 'drafting'; readonly round: number; readonly before: string | null }
  /** `again`: the verdict is asked for a second time. */
  | { readonly at: 'reviewing'; readonly round: number; readonly draft: string; readonly again: boolean }
  | { readonly at: 'ended' };

/**
 * A plan, drafted by one session and judged by another that has not seen it come about:
 *
 *     resuming -> drafting <-> reviewing -> ended
 *         \-> exploring -^
 *
 * Each draft and its review are a round. A plan that no round accepted is shown all the same, and its run has
 * failed: `implement` takes accepted plans alone.
 */
export const planFlow: Flow<PlanState> = {
  begin(facts) {
    const followUp = followUpOf(facts);
    switch (followUp.type) {
      case 'foreign':
        return { state: { at: 'ended' }, effect: foreignSession(followUp.engine, facts) };
      case 'resume':
        return { state: { at: 'resuming' }, effect: followUp };
      case 'new':
      case 'gone':
        return afresh(facts);
      default:
        return followUp satisfies never;
    }
  },

  next(facts, state, event) {
    switch (state.at) {
      case 'resuming':
        if (event.type !== 'resumed') return failed(event, state, 'going on with the session', 0);
        return event.found ? draft(1, false, followUpPlanPrompt(facts)) : afresh(facts);
      case 'exploring':
        if (event.type === 'said') return draft(1, true, draftPrompt(facts, event.text));
        // A first look that gave nothing costs the plan nothing.
        if (isAnswer(event)) return draft(1, true, draftPrompt(facts, null));
        return failed(event, state, 'explore', 0);
      case 'drafting':
        if (event.type !== 'said')
          return failed(event, state, `draft ${state.round}`, state.round - 1, state.before);
        return drafted(facts, state.round, event.text);
      case 'reviewing':
        return reviewed(facts, state, event);
      case 'ended':
        return unexpected(state, event);
      default:
        return state satisfies never;
    }
  },
};

function afresh(facts: FlowFacts): Step<PlanState> {
  if (facts.options.models.explore === null) return draft(1, true, draftPrompt(facts, null));
  const request = { role: 'explore', prompt: explorePrompt(facts), schema: null } as const;
  return {
    state: { at: 'exploring' },
    effect: { type: 'turn', phase: 'explore', session: 'explorer', fresh: true, request },
  };
}

function draft(round: number, fresh: boolean, prompt: string, before: string | null = null): Step<PlanState> {
  const request = { role: 'plan', prompt, schema: null } as const;
  return {
    state: { at: 'drafting', round, before },
    effect: { type: 'turn', phase: `draft ${round}`, session: 'author', fresh, request },
  };
}

function drafted(facts: FlowFacts, round: number, text: string): Step<PlanState> {
  const plan = quotable(text, MOST_PLAN);
  if (plan === '') return ended(agentFailed(`draft ${round}: the agent gave no plan`), null, round - 1);
  return review({ at: 'reviewing', round, draft: plan, again: false }, reviewPlanPrompt(facts, plan));
}

function review(state: Extract<PlanState, { at: 'reviewing' }>, prompt: string): Step<PlanState> {
  return { state, effect: reviewTurn(state.round, state.again, prompt) };
}

function reviewed(
  facts: FlowFacts,
  state: Extract<PlanState, { at: 'reviewing' }>,
  event: FlowEvent,
): Step<PlanState> {
  const { round, draft: plan } = state;
  if (!isAnswer(event)) return failed(event, state, `review ${round}`, round - 1, plan);
  const verdict = verdictOf(event);
  if (verdict === null) {
    if (!state.again) return review({ ...state, again: true }, VERDICT_AGAIN);
    return ended(noVerdict(round), { text: plan, accepted: false }, round - 1, failureReport(plan));
  }
  if (verdict.verdict === 'accept') {
    return ended(null, { text: plan, accepted: true }, round, planReport(plan, round, null));
  }
  if (round < facts.options.planReviewRounds) {
    return draft(round + 1, false, revisePlanPrompt(verdict.comments), plan);
  }
  const failure = agentFailed(`the plan was not accepted after ${counted(round, 'round')} of review`);
  return ended(failure, { text: plan, accepted: false }, round, planReport(plan, round, verdict.comments));
}

/** `plan`: as it was drafted before that. */
function failed(
  event: FlowEvent,
  state: PlanState,
  phase: string,
  rounds: number,
  plan: string | null = null,
): Step<PlanState> {
  if (event.type !== 'turn-failed') return unexpected(state, event);
  const failure = failureOf(event, phase);
  const kept = plan === null ? null : { text: plan, accepted: false };
  return ended(failure, kept, rounds, failureReport(plan));
}

function ended(
  failure: FlowFailure | null,
  plan: { text: string; accepted: boolean } | null,
  rounds: number,
  report = '',
): Step<PlanState> {
  const effect: Effect = {
    type: 'end',
    end: { failure, report, plan, rounds, change: null, keepsSession: true },
  };
  return { state: { at: 'ended' }, effect };
}
