/**
 * A coding agent as the workflows see it. Nothing here throws what is expected: the ways in which a turn can
 * end are values.
 */
export const AGENT_ROLES = ['explore', 'plan', 'review', 'build'] as const;
/** `build` may write in the workspace; the others only read it. */
export type AgentRole = (typeof AGENT_ROLES)[number];

export interface TurnRequest {
  readonly role: AgentRole;
  readonly prompt: string;
  /** JSON Schema that the answer has to be an object of; null asks for text. */
  readonly schema: Readonly<Record<string, unknown>> | null;
}

export type TurnEnd =
  | { readonly type: 'said'; readonly text: string; readonly structured: unknown }
  | {
      readonly type: 'failed';
      /**
       * - `provider`: the model's service failed or refused; `timeout`: over the turn's time
       * - `stopped`: the run was cancelled; `server`: the agent's own server ended or does not answer
       * - `no-answer`: it ended without text, or without an object of the schema that was asked for
       */
      readonly reason: 'provider' | 'timeout' | 'stopped' | 'server' | 'no-answer';
      /** One line for people, secrets taken out, at most 400 characters. */
      readonly why: string;
    };

export interface AgentSession {
  readonly id: string;
  /** One at a time. Ended early by the engine's signal. When it resolves nothing of the turn runs any more. */
  turn(request: TurnRequest): Promise<TurnEnd>;
}

export type Opened =
  | { readonly ok: true; readonly session: AgentSession }
  | { readonly ok: false; readonly failure: Extract<TurnEnd, { type: 'failed' }> };

export interface AgentEngine {
  /** `opencode`. */
  readonly name: string;
  /** Which store its sessions are in; see `AgentSessionRef.home`. */
  readonly home: string;
  /** A fresh conversation about the run's workspace. */
  open(title: string): Promise<Opened>;
  /** Null where the engine's store does not have it. */
  resume(id: string): Promise<Opened | null>;
  /** Ends what the run's turns left running; gives a line for each thing found. Idempotent. */
  endLeftovers(): Promise<string[]>;
}
