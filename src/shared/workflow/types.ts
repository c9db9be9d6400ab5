import type { JobSpec, ServiceSpec, StoredSpec, Trust } from '../job-spec.ts';

/** Something wrong in a workflow file; `message` says what was found and what is expected. */
export interface Fault {
  readonly file: string;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export function faultLine(fault: Fault): string {
  return `${fault.file}:${fault.line}:${fault.column}: ${fault.message}`;
}

/** A line for each fault, and one that says whether there are others. */
export function faultLines({ faults, more }: FaultyWorkflow): string[] {
  const last = more ? [`${faults[0]?.file}: ${faults.length} faults are shown; there are others`] : [];
  return [...faults.map(faultLine), ...last];
}

/** The value of each matrix name in one entry. */
export type MatrixEntry = Readonly<Record<string, string>>;

export interface EventFilter {
  /** Globs; null where the filter was not given. */
  readonly branches: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly paths: readonly string[] | null;
}

/** Events that start the workflow's jobs. A run that a person asks for needs none of them. */
export interface WorkflowEvents {
  readonly push: EventFilter | null;
  readonly pullRequest: EventFilter | null;
}

export interface WorkflowStep {
  readonly name: string | null;
  readonly run: string;
  readonly shell: 'sh' | 'bash';
  readonly workingDirectory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly if: 'success' | 'failure' | 'always';
  readonly continueOnError: boolean;
  readonly timeoutMs: number | null;
}

/** A job as written: texts may still hold `${{ matrix.NAME }}`. */
export interface WorkflowJob {
  readonly id: string;
  readonly name: string | null;
  readonly needs: readonly string[];
  /** Every entry, includes and excludes applied; null where the job has no matrix. */
  readonly matrix: readonly MatrixEntry[] | null;
  /** A run of the matrix that fails cancels the others. */
  readonly failFast: boolean;
  readonly labels: readonly string[];
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly serial: string | null;
  /** A newer push to the same branch ends its runs that are still queued. */
  readonly supersede: boolean;
  readonly retryLost: boolean;
  readonly timeoutMs: number;
  /** Null where the job wants no source. */
  readonly checkout: { readonly submodules: boolean } | null;
  /** Null, as is `imageFile`, where the job runs on the host. */
  readonly image: string | null;
  readonly services: readonly ServiceSpec[];
  readonly imageFile: string | null;
  readonly imagePull: JobSpec['imagePull'];
  readonly env: Readonly<Record<string, string>>;
  readonly steps: readonly WorkflowStep[];
  readonly artifacts: readonly { readonly name: string; readonly paths: readonly string[] }[];
}

export interface Workflow {
  readonly name: string | null;
  readonly on: WorkflowEvents;
  readonly env: Readonly<Record<string, string>>;
  readonly jobs: readonly WorkflowJob[];
  /** Jobs that an issue comment starts, by the command's name. */
  readonly commands: readonly WorkflowJob[];
}

export interface FaultyWorkflow {
  readonly ok: false;
  /** At least one. */
  readonly faults: readonly Fault[];
  /** Whether there are others. */
  readonly more: boolean;
}

export type ParsedWorkflow = { readonly ok: true; readonly workflow: Workflow } | FaultyWorkflow;

/** What the event says about the runs that it creates. */
export interface RunFacts {
  readonly repository: string;
  /** From the registered repository, never from an event. */
  readonly cloneUrl: string;
  readonly ref: string;
  readonly sha: string;
  readonly event: string;
  readonly trust: Trust;
}

/** Of the jobs that run, by their ids, the keys of the runs. */
export type ChosenRuns = ReadonlyMap<string, ReadonlySet<string> | 'all'>;

/** One run to be queued. */
export interface ExpandedRun {
  /** Its name within the pipeline, which `needs` refers to. */
  readonly key: string;
  readonly job: string;
  readonly needs: readonly string[];
  readonly labels: readonly string[];
  readonly cpus: number;
  readonly memoryBytes: number;
  /** In full (`owner/repo:deploy`), or null. */
  readonly serial: string | null;
  readonly supersede: boolean;
  /** Id of the job whose other runs are cancelled when this one fails; null where none is. */
  readonly failFast: string | null;
  readonly retryLost: boolean;
  readonly kind: 'job' | 'command';
  /** `received` waits for its authorisation; everything else starts `queued`. */
  readonly state: 'received' | 'queued';
  readonly spec: StoredSpec;
}
