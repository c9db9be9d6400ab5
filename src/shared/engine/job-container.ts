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

/** What it is made of: an image by its name, or the file that it is built from. */
export type JobImage = { readonly name: string } | { readonly file: string };

/** For the log. */
export function imageWords(image: JobImage): string {
  return 'name' in image ? `image ${image.name}` : `the image built from ${image.file}`;
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
  readonly image: JobImage;
  readonly settings: ContainerSettings;
  /** Folder of what is known of builds and pulls, shared by all processes of the directory. */
  readonly imageRecords: string;
  /** What the image carries, where this run builds one. */
  readonly imageLabels: Readonly<Record<string, string>>;
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
