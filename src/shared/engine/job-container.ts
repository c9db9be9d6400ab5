import type { EngineFacts } from './types.ts';

/** Bounds of one container; null is the engine's own default, which is mostly none. */
export interface ContainerLimits {
  readonly memoryBytes: number | null;
  readonly cpus: number | null;
  readonly pids: number | null;
}

export const IMAGE_PULLS = ['missing', 'always', 'never'] as const;
export type ImagePull = (typeof IMAGE_PULLS)[number];

/** What the operator's settings say about every job's container. Nothing of it comes from a workflow. */
export interface ContainerSettings {
  readonly limits: ContainerLimits;
  /** `USER[:GROUP]` that the steps run as; null is the image's own. */
  readonly user: string | null;
  readonly pull: ImagePull;
  /** How long a service may take to be ready. */
  readonly serviceTimeoutMs: number;
}

/**
 * How a run's container is to be made: the main thread decides it, the worker makes it. Plain data.
 * Null in a `WorkerTask` where the run executes on the host.
 */
export interface JobContainer {
  readonly engine: EngineFacts;
  /** See `engineName`. It stands in the owner record before the worker makes anything. */
  readonly name: string;
  /** See `labelsOf`. */
  readonly labels: Readonly<Record<string, string>>;
  /** As the workflow has it: a tag, a digest, or an id. */
  readonly image: string;
  readonly settings: ContainerSettings;
}

/** Where a job finds its things in its container. */
export const INSIDE = {
  workspace: '/workspace',
  cache: '/cache',
  tmp: '/tmp',
  /** The steps' scripts, read-only. */
  steps: '/vole/steps',
} as const;

/** A host directory in a container. */
export interface Mount {
  readonly host: string;
  readonly inside: string;
  readonly readOnly?: boolean;
}
