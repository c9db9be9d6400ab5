import type { Trust } from '../../shared/job-spec.ts';
import type { Kept } from './kept-room.ts';

/** A connected session as the presence page shows it; kept in memory by the ssh endpoint. */
export interface Session {
  readonly id: string;
  readonly account: string;
  readonly address: string;
  readonly machine: string;
  readonly process: string;
  readonly slot: number;
  readonly slots: number;
  readonly version: string;
  readonly labels: readonly string[];
  readonly repos: readonly string[];
  readonly engine: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly since: number;
  /** What it runs and since when; null while idle. */
  readonly run: {
    readonly id: number;
    readonly attempt: number;
    readonly repository: string;
    readonly job: string;
    readonly since: number;
    /** What it holds of its process's cores and memory. */
    readonly cpus: number;
    readonly memoryBytes: number;
  } | null;
  /** Since when it has neither asked for a run nor had one, as a slot that pauses; null while it does. */
  readonly silentSince: number | null;
}

export interface Presence {
  sessions(): readonly Session[];
}

export interface LeaseRequest {
  readonly session: Pick<Session, 'id' | 'account' | 'machine' | 'labels' | 'repos' | 'cpus' | 'memoryBytes'>;
  readonly key: string;
  /** Of its process, when it asked. */
  readonly freeCpus: number;
  readonly freeMemoryBytes: number;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface LeasedRun {
  readonly run: number;
  readonly attempt: number;
  readonly repository: string;
  readonly trust: Trust;
  readonly job: string;
  /** Milliseconds of the epoch. */
  readonly startedAt: number;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** With its secrets where the run is trusted. */
  readonly spec: unknown;
}

/**
 * Leases with waiting: claims at once, and where nothing fits waits until something becomes leasable,
 * the time passes or the signal aborts. Also owns the timer of lease expiry.
 */
export interface LeaseQueue {
  lease(request: LeaseRequest): Promise<LeasedRun | null>;
  /** Called on each change of a run, by id. Returns the function that ends the subscription. */
  onChange(listener: (run: number) => void): () => void;
  /** A job of the session has ended, and it does not ask itself: other slots of its process have more free now. */
  freed(session: string): void;
  /** For which runs runner processes keep room now. */
  roomKept(): readonly Kept[];
  close(): Promise<void>;
}
