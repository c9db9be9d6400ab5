import type { AgentResult } from '../../shared/agent/result.ts';
import type { AgentCommand, AgentSessionRef } from '../../shared/agent/spec.ts';
import type { Settled } from '../../shared/worker-messages.ts';

/** Of a change that is being pushed, what must outlive the process. */
export interface KeptChange {
  /** As it was, or would have been, pushed: whether it was, the remote tells. */
  readonly sha: string;
  readonly rebased: boolean;
  /** What the runner is to be told, once that is known. */
  readonly published: Settled | null;
}

/**
 * What agent runs left behind. Results, sessions and accepted plans are written by the transaction that
 * records the run's outcome (see `keepAgentResult`), so they are there exactly where the run has ended.
 */
export interface AgentStore {
  resultOf(run: number): Promise<AgentResult | null>;
  /** The accepted plan of the latest run that left one. */
  planOf(repository: string, issue: number): Promise<string | null>;
  sessionOf(repository: string, issue: number, command: AgentCommand): Promise<AgentSessionRef | null>;
  changeOf(run: number, attempt: number): Promise<KeptChange | null>;
  /** To be written before anything is pushed. */
  keepChange(run: number, attempt: number, change: KeptChange): Promise<void>;
}
