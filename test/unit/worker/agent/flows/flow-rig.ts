import type { AgentSpec } from '../../../../../src/shared/agent/spec.ts';
import type {
  Effect,
  Flow,
  FlowEnd,
  FlowEvent,
  FlowFacts,
  Snapshot,
} from '../../../../../src/worker/agent/flows/flow.ts';

export const PARENT = 'a'.repeat(40);
export const COMMIT = 'b'.repeat(40);

export function facts(spec: Partial<AgentSpec> = {}, over: Partial<FlowFacts> = {}): FlowFacts {
  return {
    run: 7,
    repository: 'team/app',
    spec: {
      command: 'plan',
      message: '',
      author: 'ann',
      target: { number: 12, pull: false, title: 'It breaks', body: 'Always.', comments: [] },
      branch: null,
      plan: null,
      session: null,
      base: null,
      ...spec,
    },
    options: {
      models: {
        explore: null,
        plan: { model: 'p', variant: null },
        build: { model: 'b', variant: null },
      },
      planReviewRounds: 2,
      implementReviewRounds: 2,
    },
    engine: 'opencode',
    home: 'here',
    parent: PARENT,
    ...over,
  };
}

/** Plays events against a flow; gives what it wanted in between, and its end. */
export function play<S>(
  flow: Flow<S>,
  given: FlowFacts,
  events: readonly FlowEvent[],
): { effects: Exclude<Effect, { type: 'end' }>[]; trail: string[]; end: FlowEnd | null } {
  const effects: Exclude<Effect, { type: 'end' }>[] = [];
  let step = flow.begin(given);
  for (const event of events) {
    if (step.effect.type === 'end') throw new Error(`ended before ${event.type}`);
    effects.push(step.effect);
    step = flow.next(given, step.state, event);
  }
  const { effect } = step;
  if (effect.type !== 'end') effects.push(effect);
  return { effects, trail: effects.map(named), end: effect.type === 'end' ? effect.end : null };
}

/** Such as `draft 1 author fresh plan`. */
function named(effect: Effect): string {
  if (effect.type !== 'turn') return effect.type;
  const { phase, session, fresh, request } = effect;
  return [phase, session, fresh ? 'fresh' : 'goes on', request.role].join(' ');
}

export function promptOf(effect: Effect | undefined): string {
  return effect?.type === 'turn' ? effect.request.prompt : '';
}

export const said = (text: string, structured: unknown = null): FlowEvent => ({
  type: 'said',
  text,
  structured,
});
export const accept = said('', { verdict: 'accept', comments: '' });
export const revise = (comments: string): FlowEvent => said('', { verdict: 'revise', comments });
export const turnFailed = (
  reason: Extract<FlowEvent, { type: 'turn-failed' }>['reason'],
  why = 'so it was',
): FlowEvent => ({ type: 'turn-failed', reason, why });
export const snapshot = (over: Partial<Snapshot> = {}): FlowEvent => ({
  type: 'snapshot',
  snapshot: { tree: 'c'.repeat(40), files: ['M a.ts'], diff: '+one', notes: [], ...over },
});
export const committed: FlowEvent = { type: 'committed', commit: COMMIT };
export const pushed: FlowEvent = {
  type: 'published',
  published: {
    state: 'pushed',
    commit: COMMIT,
    branch: 'agent/issue-12',
    pull: { number: 13, url: 'http://forge/pulls/13' },
    rebased: false,
  },
};
