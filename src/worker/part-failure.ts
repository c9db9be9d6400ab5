import type { Reason } from '../shared/outcome.ts';

/** What a part of the run before or after its steps gives where it fails. */
export interface PartFailure {
  readonly reason: Reason;
  readonly why: string;
}
