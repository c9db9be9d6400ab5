import type { MessagePort } from 'node:worker_threads';
import type { AgentAccess } from './agent/access.ts';
import type { AgentOptions } from './agent/options.ts';
import type { Published, PublishRequest } from './agent/result.ts';
import type { JobContainer } from './engine/job-container.ts';
import type { EngineObject } from './engine/types.ts';
import type { JobSpec } from './job-spec.ts';
import type { RunOutcome } from './outcome.ts';

/**
 * What main thread and worker thread of a runner say to one another. A Piscina task is one run; its
 * `port` carries these messages, its return value is a `TaskResult`. Nothing expected is thrown.
 */
export interface WorkerTask {
  readonly spec: JobSpec;
  readonly paths: JobPaths;
  readonly port: MessagePort;
  /** Value of `VOLE_JOB_MARKER` in every process of the run, by which strays are found again. */
  readonly marker: string;
  /** Directory of the job's cgroup v2, made by the main thread; null where it may make none. */
  readonly cgroup: string | null;
  /** The container that the run executes in; null on the host. */
  readonly container: JobContainer | null;
  /** Of the spool, open for appending; the main thread's to close, when the thread is done with the run. */
  readonly spoolFd: number;
  /** For the first step that runs, so that it need not ask; null where there are none. */
  readonly streams: StepStreams | null;
  /** Socket of the process that spawns the steps; null where the thread does it itself. */
  readonly spawner: string | null;
  /** How agent runs are done; null where this runner does none. */
  readonly agent: AgentOptions | null;
  /** Beside the job's secrets: keys of this runner that a run may come upon, to be kept out of all that it says. */
  readonly masked: readonly string[];
  readonly killGraceMs: number;
  /** How long a step's pipes may stay open after its process exited. */
  readonly pipeGraceMs: number;
  readonly logLimitBytes: number;
  readonly artifactLimitBytes: number;
  /** Epoch ms of the run's start: log stamps count from it. */
  readonly startedAt: number;
  /** Base environment from the runner's settings (`--job-env`), beside HOME, PATH and TMPDIR. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** For the git that fetches the checkout: how this host reaches repositories. No step sees it. */
  readonly gitEnv: Readonly<Record<string, string>>;
}

/** Absolute paths, all made by the main thread except `spool`, `artifacts` and the saved checkout. */
export interface JobPaths {
  /** `jobs/<run>-<attempt>.<server>`, the folder of all below except `cache` and `git`. */
  readonly tree: string;
  readonly src: string;
  readonly tmp: string;
  /** The log that the worker appends and the main thread sends. */
  readonly spool: string;
  readonly artifacts: string;
  /** The namespace; the step sees it as `$VOLE_CACHE`. */
  readonly cache: string;
  /** The saved checkout (bare), which may not exist yet; null where the run has no source. */
  readonly git: string | null;
  /** What the installers of agent runs share; there on every host. */
  readonly tools: string;
  /** HOME of the steps. */
  readonly home: string;
}

/** Descriptors of one step's output, opened by the main thread and the worker's to close. */
export interface StepStreams {
  readonly stdoutRead: number;
  readonly stdoutWrite: number;
  readonly stderrRead: number;
  readonly stderrWrite: number;
}

export type GuardMode = 'shared' | 'exclusive';

export type FromWorker =
  /** First of all: `threadId` of the thread that has the run. */
  | { type: 'thread'; id: number }
  /** Asks for the guard of the saved checkout; answered by `granted` or `denied` with the same id. */
  | { type: 'guard'; id: number; name: string; mode: GuardMode }
  | { type: 'guard-done'; id: number }
  /** Asks for the descriptors of one step's output FIFOs. */
  | { type: 'streams'; id: number }
  | { type: 'process'; pgid: number; what: string }
  /** Is about to make it, and leaves it to the main thread to remove; answered by `noted` when the owner record names it, or by `not-noted`. */
  | { type: 'engine-object'; id: number; object: EngineObject }
  /** `drained`, of a step: its output was read to the end, so nobody has it open any more. */
  | { type: 'process-gone'; pgid: number; drained?: boolean }
  /** Before the first process of the run is moved into its cgroup. */
  | { type: 'cgroup-joined' }
  /** The spool now has this many bytes that may be sent. */
  | { type: 'spooled'; bytes: number }
  /** Asks for the agents' server of this process, which is started where it does not run. */
  | { type: 'agent-server'; id: number }
  | { type: 'artifact'; name: string; path: string; bytes: number; sha256: string }
  /** Asks the server to push the change that was sent as an artifact; answered by `published`. */
  | { type: 'publish'; id: number; request: PublishRequest };

export type ToWorker =
  | { type: 'granted'; id: number }
  | { type: 'denied'; id: number; why: string }
  | { type: 'streams'; id: number; streams: StepStreams }
  | { type: 'streams-failed'; id: number; why: string }
  | { type: 'noted'; id: number }
  | { type: 'not-noted'; id: number; why: string }
  | { type: 'published'; id: number; published: Settled }
  | { type: 'agent-server'; id: number; access: AgentAccess }
  | { type: 'agent-server-failed'; id: number; why: string }
  /** TERM to the step's group, the grace, then KILL; the outcome then has this reason. */
  | { type: 'cancel'; reason: 'cancelled' | 'timeout' | 'interrupted'; why: string };

/** What has become of a change for good. */
export type Settled = Exclude<Published, { state: 'pending' }>;

export interface TaskResult {
  readonly outcome: RunOutcome;
  /** Final length of the spool. */
  readonly logBytes: number;
}
