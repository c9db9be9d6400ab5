import type { AgentResult } from '../shared/agent/result.ts';
import type { Reason, StepOutcome } from '../shared/outcome.ts';

/** What a part of the run before or after its steps gives where it fails. */
export interface PartFailure {
  readonly reason: Reason;
  readonly why: string;
}

/** What became of a run up to its last step. */
export interface PartsDone {
  readonly failure: PartFailure | null;
  readonly steps: StepOutcome[];
  /** What else a failed run may have failed of, for people. */
  readonly notes?: readonly string[] | undefined;
  /** Of an agent run. */
  readonly agent?: AgentResult | undefined;
}
