import type { StoredSpec, Trust } from '../../shared/job-spec.ts';
import type { ExpandedRun } from '../../shared/workflow/types.ts';
import type { CommandFacts } from './control.ts';

/** A run about to be stored. */
interface NewRunFacts extends Omit<ExpandedRun, 'spec' | 'supersede'> {
  /** A newer pipeline of the same ref and event ends it while it is queued. */
  readonly supersede?: boolean;
  /** The comment that asked for it, where it is a command. */
  readonly command?: CommandFacts;
}

export interface NewRun extends NewRunFacts {
  readonly spec: StoredSpec;
}

/** A command of which only who asked for it is known: it is prepared once it is authorised. */
export interface UnpreparedRun extends NewRunFacts {
  readonly spec: null;
}

/** What preparing finds out about a command that is `received`. */
export interface PreparedRun {
  readonly ref: string;
  readonly sha: string;
  readonly trust: Trust;
  readonly run: NewRun;
}

export interface NewPipeline {
  readonly repository: string;
  readonly event: string;
  readonly ref: string;
  readonly sha: string;
  readonly trust: Trust;
  readonly title: string;
  /** A fault in the workflow file: the pipeline is failed and has no runs. */
  readonly fault: string | null;
  /** Whether it ends queued runs of earlier pipelines of its ref and event whose jobs say `supersede`. */
  readonly supersedes?: boolean;
  readonly runs: readonly (NewRun | UnpreparedRun)[];
}

export interface RetryRequest {
  readonly pipeline: number;
  /** Those of its runs that did not pass; null takes them all. */
  readonly runs: readonly number[] | null;
}

/** The pipeline that executes them again with its runs, or one line why there is none. */
export type Retried =
  | { readonly pipeline: number; readonly runs: readonly number[] }
  | { readonly refused: string };
