import type { AgentOptions } from '../../../shared/agent/options.ts';
import type { MainThread } from '../../port.ts';
import type { Connection } from './connection.ts';
import type { RunProcesses } from './leftovers.ts';
import type { failed } from './turn-end.ts';

export interface EngineParts {
  readonly main: Pick<MainThread, 'agentServer' | 'stopping' | 'stopped' | 'tell'>;
  readonly options: Pick<AgentOptions, 'models' | 'turnTimeoutMs'>;
  /** Where the repository is checked out; a folder of the tree. */
  readonly workspace: string;
  readonly processes: RunProcesses;
  /** A line for the run's log. */
  readonly say: (line: string) => void;
  /** Without the run's secrets. */
  readonly mask: (text: string) => string;
}

export type Connected =
  | { readonly ok: true; readonly connection: Connection }
  | { readonly ok: false; readonly failure: ReturnType<typeof failed> };

/** What the conversations of a run share. */
export interface SessionHost {
  readonly parts: EngineParts;
  /** To the server as it is now: one that has ended is started again. From then on the workspace is without the repository's settings for it. */
  connect(): Promise<Connected>;
  /** Ends what the run's commands have left running. */
  endLeft(): Promise<void>;
  /** The same, and puts the repository's settings back; or says why it cannot. */
  afterTurn(): Promise<ReturnType<typeof failed> | null>;
  /** What went wrong while the run was stopped went wrong because of that. */
  serverFailure(why: string): ReturnType<typeof failed>;
}
