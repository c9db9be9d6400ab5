import type { AgentOptions, AgentService } from '../shared/agent/options.ts';
import type { ContainerSettings } from '../shared/engine/job-container.ts';
import type { EngineName } from '../shared/engine/types.ts';
import type { Connect, Endpoint } from './session/session.ts';

/** Where a runner's own log goes: objects of facts and one line, as pino takes them. */
export interface RunnerLog {
  debug(facts: object, line: string): void;
  info(facts: object, line: string): void;
  warn(facts: object, line: string): void;
}

/** A size in bytes or a share (0 to 1) of the file system that holds `dir`. */
export type SizeOrShare = { bytes: number } | { share: number };

/** Everything a runner process is told; the command line and `vole run` fill it in. */
export interface RunnerOptions {
  readonly connect: Connect;
  readonly endpoint: Endpoint;
  readonly hello: Omit<Parameters<Connect>[1], 'slot' | 'engine'>;
  readonly backoffMs: (tries: number) => number;
  readonly dir: string;
  readonly jobs: number;
  readonly once: boolean;
  readonly exitStatus: boolean;
  readonly leaseWaitMs: number;
  readonly noCache: boolean;
  readonly cacheSize: SizeOrShare;
  readonly gitSize: SizeOrShare;
  readonly minFree: SizeOrShare;
  readonly trimIntervalMs: number;
  readonly drainTimeoutMs: number;
  /** Whether the server outlives this process, so that a later start has somebody to tell what was not reported. */
  readonly keepUnreported: boolean;
  readonly killGraceMs: number;
  readonly logLimitBytes: number;
  readonly artifactLimitBytes: number;
  /** `auto`: whichever engine answers, or none; a named one must answer. */
  readonly engine: EngineName | 'auto' | 'none';
  /** The environment of the engine's client. */
  readonly engineEnv: Readonly<Record<string, string>>;
  readonly container: ContainerSettings;
  /** How many images built from an image-file stay. */
  readonly imageKeep: number;
  /** How agent runs are done; null: this runner does none. `hello.labels` then lacks `AGENT_LABEL`. */
  readonly agent: { readonly options: AgentOptions; readonly service: AgentService } | null;
  readonly hostJobs: 'never' | 'trusted' | 'always';
  readonly cpus: number;
  readonly memoryBytes: number;
  /** PATH and what `--job-env` names: the base of every step's environment. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** For the git that fetches a checkout. */
  readonly gitEnv: Readonly<Record<string, string>>;
  /** HOME of the jobs. */
  readonly home: string;
  /** Files of the built program: the worker thread's and the file thread's. */
  readonly workerFile: string;
  readonly fileThreadFile: string;
  /** And the process's that spawns steps. */
  readonly spawnerFile: string;
  /** And the one's that stands in for ripgrep. */
  readonly searchFile: string;
  readonly log: RunnerLog;
}
