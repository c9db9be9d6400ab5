import type { AgentOptions } from '../../../shared/agent/options.ts';
import type { AgentResult, Published, PublishRequest } from '../../../shared/agent/result.ts';
import type { AgentSpec } from '../../../shared/agent/spec.ts';
import type { Reason } from '../../../shared/outcome.ts';
import type { TurnEnd, TurnRequest } from '../engine.ts';

/** What a flow decides from; it does not change while the run lasts. */
export interface FlowFacts {
  readonly run: number;
  /** `owner/name`. */
  readonly repository: string;
  readonly spec: AgentSpec;
  readonly options: Pick<AgentOptions, 'models' | 'planReviewRounds' | 'implementReviewRounds'>;
  /** The engine that is there. */
  readonly engine: string;
  /** Which of its stores is there. */
  readonly home: string;
  /** The commit that was checked out. */
  readonly parent: string;
}

/** The work tree at one moment, against the commit that was checked out. */
export interface Snapshot {
  /** Git's tree of it. */
  readonly tree: string;
  /** What differs, such as `M src/main.ts`; none: nothing changed. */
  readonly files: readonly string[];
  /** For a review; bounded, and says where it was cut. */
  readonly diff: string;
  /** What was left out, and why. */
  readonly notes: readonly string[];
}

/** Conversations of a run by what they are for. */
export type SessionName = 'explorer' | 'author' | 'reviewer';

/** What is to be done next; each is answered by one event. */
export type Effect =
  /** The author's session of an earlier command; answered by `resumed`. */
  | { readonly type: 'resume'; readonly id: string }
  /** `fresh`: in a new session of that name. Answered by `said` or `turn-failed`. */
  | {
      readonly type: 'turn';
      readonly phase: string;
      readonly session: SessionName;
      readonly fresh: boolean;
      readonly request: TurnRequest;
    }
  /** Answered by `snapshot` or `unusable`. */
  | { readonly type: 'snapshot' }
  /** One commit of that tree, handed in as the run's artifact; answered by `committed` or `unusable`. */
  | { readonly type: 'commit'; readonly tree: string; readonly message: string }
  /** Answered by `published`. */
  | { readonly type: 'publish'; readonly request: PublishRequest }
  | { readonly type: 'end'; readonly end: FlowEnd };

export type FlowEvent =
  /** `found`: the store still has it. */
  | { readonly type: 'resumed'; readonly found: boolean }
  | { readonly type: 'said'; readonly text: string; readonly structured: unknown }
  | { readonly type: 'turn-failed'; readonly reason: TurnFailure; readonly why: string }
  | { readonly type: 'snapshot'; readonly snapshot: Snapshot }
  /** The workspace gives no commit. */
  | { readonly type: 'unusable'; readonly reason: Reason; readonly why: string }
  | { readonly type: 'committed'; readonly commit: string }
  | { readonly type: 'published'; readonly published: Exclude<Published, { state: 'pending' }> };

export type TurnFailure = Extract<TurnEnd, { type: 'failed' }>['reason'];

export interface FlowFailure {
  readonly result: 'failed' | 'timed-out' | 'cancelled';
  readonly reason: Reason;
  /** One line for people. */
  readonly why: string;
}

/** What the run leaves behind. */
export interface FlowEnd extends Pick<AgentResult, 'report' | 'plan' | 'rounds' | 'change'> {
  /** Null where what was asked for is there. */
  readonly failure: FlowFailure | null;
  /** The author's session is to be gone on with by a later command; where none was opened, the earlier one. */
  readonly keepsSession: boolean;
}

export interface Step<S> {
  readonly state: S;
  readonly effect: Effect;
}

/** A workflow: what follows on what. Pure; the driver does what it decides. */
export interface Flow<S> {
  begin(facts: FlowFacts): Step<S>;
  /** Throws where the event is none that the state waits for, which is a fault of vole. */
  next(facts: FlowFacts, state: S, event: FlowEvent): Step<S>;
}

export function unexpected(state: { readonly at: string }, event: FlowEvent): never {
  throw new Error(`the flow waits in ${state.at} and was told ${event.type}`);
}
