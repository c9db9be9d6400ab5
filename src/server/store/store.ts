import type { ForgeKind } from '../../shared/api-forge.ts';
import type { Capacity } from '../../shared/capacity.ts';
import type { Trust } from '../../shared/job-spec.ts';
import type { FinalState, RunOutcome, RunState, StepOutcome } from '../../shared/outcome.ts';
import type { AgentStore } from './agent-store.ts';
import type { CommandStore, ForgeStore, TaskStore } from './control.ts';
import type { EventStore } from './event-store.ts';
import type { NewPipeline, PreparedRun, Retried, RetryRequest } from './new-pipeline.ts';

export type {
  NewPipeline,
  NewRun,
  PreparedRun,
  Retried,
  RetryRequest,
  UnpreparedRun,
} from './new-pipeline.ts';

/**
 * Everything durable that the server knows, except the bytes of artifacts and of long logs. Each method that writes
 * resolves only when its transaction is committed; calls of one turn of the event loop share one
 * commit. Methods are async so that another database can stand behind the same interface.
 * All times are epoch milliseconds by the server's clock, written by the store itself.
 */
export interface Store {
  readonly accounts: AccountStore;
  readonly repositories: RepositoryStore;
  readonly secrets: SecretStore;
  readonly runs: RunStore;
  readonly events: EventStore;
  readonly tasks: TaskStore;
  readonly forges: ForgeStore;
  readonly commands: CommandStore;
  readonly agents: AgentStore;
  readonly smallLogs: SmallLogStore;
  close(): Promise<void>;
}

export interface AccountKey {
  readonly account: string;
  /** `SHA256:...`, as `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
  /** `ssh-ed25519 AAAA...`, without comment. */
  readonly publicKey: string;
  readonly addedAt: number;
}

export interface AccountStore {
  /** Adding a key that the same account has changes nothing; one that another account has is a conflict. */
  addKey(account: string, publicKey: string, fingerprint: string): Promise<'added' | 'exists' | 'conflict'>;
  keys(): Promise<AccountKey[]>;
  /** Removes one key, or all of the account where `fingerprint` is null; how many were removed. */
  removeKeys(account: string, fingerprint: string | null): Promise<number>;
  accountOf(publicKey: string): Promise<string | null>;
}

export interface Repository {
  readonly name: string;
  readonly cloneUrl: string;
  /** Most runs of it that run at once; null is no cap. */
  readonly maxJobs: number | null;
  /** Null where it lives on none that we know of. */
  readonly forge: ForgeKind | null;
  readonly addedAt: number;
}

export interface RepositoryStore {
  add(repository: { name: string; cloneUrl: string; maxJobs: number | null }): Promise<'added' | 'exists'>;
  set(name: string, change: { cloneUrl?: string; maxJobs?: number | null }): Promise<boolean>;
  /** Refused while it has unfinished runs. */
  remove(name: string): Promise<'removed' | 'not-found' | 'has-runs'>;
  get(name: string): Promise<Repository | null>;
  list(): Promise<Repository[]>;
}

/** Values are sealed before they reach the store: it never sees a plain secret. */
export interface SecretStore {
  set(repository: string, name: string, sealed: Buffer): Promise<void>;
  names(repository: string): Promise<{ name: string; updatedAt: number }[]>;
  remove(repository: string, name: string): Promise<boolean>;
  sealedOf(repository: string): Promise<{ name: string; sealed: Buffer }[]>;
}

export interface Run {
  readonly id: number;
  readonly pipeline: number;
  readonly repository: string;
  readonly ref: string;
  readonly sha: string;
  readonly event: string;
  readonly trust: Trust;
  /** The pipeline that its own executes again, or null. */
  readonly retryOf: number | null;
  readonly key: string;
  readonly job: string;
  readonly kind: 'job' | 'command';
  readonly state: RunState;
  /** Of a command that is `received`: whoever asked may, and it is being prepared. */
  readonly authorised: boolean;
  /** Leases so far; 0 before the first. */
  readonly attempt: number;
  /** How many of them ended by expiry. */
  readonly lostCount: number;
  readonly needs: readonly string[];
  readonly labels: readonly string[];
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly serial: string | null;
  readonly account: string | null;
  readonly machine: string | null;
  readonly session: string | null;
  readonly createdAt: number;
  readonly queuedAt: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** While running: when the lease expires. */
  readonly leaseUntil: number | null;
  /** Wanted by a person: the next heartbeat carries it. */
  readonly cancelWhy: string | null;
  readonly reason: string | null;
  readonly detail: string;
  readonly steps: readonly StepOutcome[];
  readonly logLength: number;
}

export interface Pipeline {
  readonly id: number;
  readonly repository: string;
  readonly event: string;
  readonly ref: string;
  readonly sha: string;
  readonly trust: Trust;
  readonly title: string;
  readonly fault: string | null;
  /** The pipeline that it executes again, or null. */
  readonly retryOf: number | null;
  readonly createdAt: number;
  readonly runs: readonly number[];
}

export interface PipelineSummary extends Omit<Pipeline, 'runs'> {
  /** How many of its runs are in each state that any is in. */
  readonly states: Readonly<Partial<Record<RunState, number>>>;
}

export interface PipelineFilter {
  readonly repository?: string | undefined;
  /** Only those whose workflow file has a fault. */
  readonly faulty?: boolean;
  /** Only with a higher, or a lower, id. */
  readonly after?: number;
  readonly before?: number | undefined;
  readonly limit: number;
}

/** What a session can take. */
export interface Claim {
  readonly account: string;
  readonly session: string;
  readonly machine: string;
  readonly key: string;
  readonly labels: readonly string[];
  /** Globs; empty takes all. */
  readonly repos: readonly string[];
  /** What is free for it, given what the jobs of its process hold when the claim is made. */
  readonly free: (held: Capacity) => Capacity;
  readonly room: ClaimRoom;
  readonly leaseMs: number;
  readonly maxCommands: number;
}

/** Room that the process of a claim keeps for runs that wait too long for its cores or memory. */
export interface ClaimRoom {
  /** Of the whole process. */
  readonly total: Capacity;
  /** What was queued before this, in milliseconds of the epoch, waits too long. */
  readonly queuedBefore: number;
  /** The run that room is kept for; null for none. */
  readonly kept: () => number | null;
  /** Of runs that wait too long, the earliest first, the one that room is kept for from now on; null for none. */
  readonly keep: (starved: readonly number[]) => number | null;
  /** Whether a slot that waits could take such a run, perhaps once its process has more free. */
  readonly isAwaited: (wanted: Wanted) => boolean;
}

export interface Wanted extends Capacity {
  readonly repository: string;
  readonly labels: readonly string[];
}

export interface ClaimedRun {
  readonly run: number;
  readonly attempt: number;
  readonly repository: string;
  readonly trust: Trust;
  readonly job: string;
  /** Milliseconds of the epoch. */
  readonly startedAt: number;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** The stored spec with run, attempt and pipeline set, as stored: a broken one is passed on as it is. */
  readonly spec: unknown;
}

/**
 * Logs up to some KiB, which most are: written with the transaction that ends their run, they cost the disk
 * nothing of their own. What reads is synchronous, since it decides in which turn of the event loop a
 * write begins.
 */
export interface SmallLogStore {
  /** Whether a log of this length may be kept here. */
  takes(length: number): boolean;
  /** Writes nothing where `at` is not its length. The length that is durable, or that it would be too long. */
  append(run: number, attempt: number, at: number, bytes: Uint8Array): Promise<number | 'full'>;
  /** As it was committed; null where there is nothing of that log. */
  length(run: number, attempt: number): number | null;
  read(run: number, attempt: number): Buffer | null;
  /** Once it is kept elsewhere. False, and nothing removed, where its length is another by now. */
  remove(run: number, attempt: number, length: number): Promise<boolean>;
}

export type LeaseCheck = { ok: true; cancelWhy: string | null } | { ok: false; why: string };

/** What a change made leasable or final: the queue wakes waiting leases and followers by it. */
export interface RunEvents {
  leasable(): void;
  changed(run: number): void;
  /** Some account has lost a key. */
  keysRemoved(): void;
  /** Control tasks wait to be done. */
  tasks(): void;
}

export interface RunStore {
  createPipeline(pipeline: NewPipeline): Promise<{ pipeline: number; runs: number[] }>;
  /** A pipeline of what is executed again of another one. Null where there is none of that id. */
  retry(request: RetryRequest): Promise<Retried | null>;
  pipeline(id: number): Promise<Pipeline | null>;
  /** The latest first. */
  pipelines(filter: PipelineFilter): Promise<PipelineSummary[]>;
  get(id: number): Promise<Run | null>;
  list(filter: {
    repository?: string;
    states?: readonly RunState[];
    pipeline?: number;
    limit: number;
    before?: number;
  }): Promise<Run[]>;
  /** The latest run of this job (`key`) at a commit, over all pipelines. */
  latestAt(repository: string, sha: string, key: string): Promise<Run | null>;
  /** The latest pipeline at a commit whose workflow file has a fault. */
  latestFaultAt(repository: string, sha: string): Promise<{ pipeline: number; fault: string } | null>;
  /** The stored spec. */
  specOf(id: number): Promise<unknown>;
  /**
   * One conditional update (see `docs/architecture.md`, the queue). A claim whose key the account
   * used for a lease that still stands gives that lease again, now on this session.
   */
  claim(claim: Claim): Promise<ClaimedRun | null>;
  /** The first heartbeat accepts. Renews the lease. `account` must own it; the attempt must be the run's. */
  heartbeat(account: string, run: number, attempt: number, leaseMs: number): Promise<LeaseCheck>;
  /** The same check and renewal without accepting, for log and artifact frames. */
  renew(account: string, run: number, attempt: number, leaseMs: number): Promise<LeaseCheck>;
  /**
   * Ends the run, or queues it again where the outcome is `interrupted` or `lost` and it may be. With
   * `smallLog` only where the small log of the attempt has its length by then; `short` says that it has not.
   */
  record(
    account: string,
    run: number,
    attempt: number,
    outcome: RunOutcome,
    logLength: number,
    how?: { readonly smallLog: boolean },
  ): Promise<LeaseCheck | 'short'>;
  /**
   * Leases of this session that were never accepted are queued again, not counted as lost; `isGivenBack` may
   * keep some that were accepted otherwise than by a heartbeat.
   */
  sessionEnded(
    session: string,
    isGivenBack?: (lease: { run: number; attempt: number }) => boolean,
  ): Promise<number[]>;
  /** A queued or received run ends as cancelled at once; a running one is told by its next heartbeat. */
  cancel(run: number, why: string): Promise<'cancelled' | 'cancelling' | 'not-found' | FinalState>;
  /** Expires leases that have run out: queued again, or `lost` (third time, or `retryLost` false). */
  expire(): Promise<number[]>;
  /** When the next lease expires, or null. */
  nextExpiry(): Promise<number | null>;
  /** Every running lease gets its full time again: called once when a server starts. */
  renewAll(leaseMs: number): Promise<void>;
  /**
   * Moves a received run to queued (authorised) or refused. One without a spec stays received until it is
   * prepared. False where that changes nothing.
   */
  authorise(run: number, allowed: boolean, why: string): Promise<boolean>;
  /**
   * Of received runs that are authorised and have no spec yet, those of one repository, in order. `inTurn`:
   * only where no earlier run of its serial key is unfinished, since it builds on what those leave.
   */
  toPrepare(repository: string, inTurn?: boolean): Promise<number[]>;
  /** Repositories that have such runs. */
  repositoriesToPrepare(inTurn?: boolean): Promise<string[]>;
  /** Queues it with this spec, or ends it as failed with one line. False where it is not to be prepared. */
  prepare(run: number, found: PreparedRun | { readonly fault: string }): Promise<boolean>;
  why(run: number): Promise<WaitReason | null>;
}

/** Why a queued run waits, most decisive first, and its place among the runs that could be leased. */
export interface WaitReason {
  readonly run: number;
  readonly state: RunState;
  readonly reasons: readonly {
    code:
      | 'needs'
      | 'serial'
      | 'cap'
      | 'commands'
      | 'labels'
      | 'cpus'
      | 'memory'
      | 'no-runner'
      | 'paused'
      | 'received'
      | 'next';
    text: string;
  }[];
  readonly place: number | null;
}
