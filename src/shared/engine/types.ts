/** The container engines whose command lines vole speaks. */
export const ENGINES = ['docker', 'podman'] as const;
export type EngineName = (typeof ENGINES)[number];

/** Which engine, and how its client is called. Plain data: it goes to the worker threads as it is. */
export interface EngineFacts {
  readonly name: EngineName;
  /**
   * The whole environment of the client: PATH, HOME and what says where the engine is (`DOCKER_HOST`).
   * Nothing of a job's ever stands in it: there `DOCKER_HOST` would send the client elsewhere, and with
   * podman `LD_PRELOAD` would run a job's code on the host.
   */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Why an engine did not do what it was asked.
 *
 * - `missing`: its client is not on this host; `denied`: this user may not speak to it
 * - `unreachable`: it does not run, or went away meanwhile
 * - `no-image`: the image is not on this host; `gone`: no such container or network, or it does not run
 * - `timeout`: no answer in time; `stopped`: we ended the client, since the run was stopped
 * - `failed`: anything else; `why` has the engine's words
 */
export type EngineFailureReason =
  | 'missing'
  | 'denied'
  | 'unreachable'
  | 'no-image'
  | 'gone'
  | 'timeout'
  | 'stopped'
  | 'failed';

export interface EngineFailure {
  readonly reason: EngineFailureReason;
  /** One line for people, without the engine's hints on its usage. */
  readonly why: string;
}

/** What vole makes in an engine and removes again, by the name that it had before it was made. */
export interface EngineObject {
  readonly kind: 'container' | 'network';
  readonly engine: EngineName;
  readonly name: string;
}

export type EngineReply<T> = { ok: true; value: T } | { ok: false; failure: EngineFailure };
