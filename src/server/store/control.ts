import type { ForgeKind, TaskKind, TaskState } from '../../shared/api-forge.ts';

/** What a server does on a forge, beside the runs: the queue of its own work. */
/** What each kind is about. The wanted effect is worked out anew whenever the task is done, never kept. */
export interface TaskPayloads {
  authorise: { readonly run: number };
  /** A comment asked to end the commands of its issue, as far as they were received before it. */
  abort: {
    readonly issue: number;
    readonly comment: number;
    readonly author: string;
    readonly upToRun: number;
  };
  /** The comment of a command; `state` is the run's when it was asked for, or `cancelling`. */
  comment: { readonly run: number; readonly state: string };
  /** An answer to a comment that no run stands behind. */
  reply: { readonly issue: number; readonly text: string };
  /** `key` is the job's in the workflow file, or empty for the file itself. */
  status: { readonly sha: string; readonly key: string; readonly run: number; readonly state: string };
}

export type TaskRequest<Kind extends TaskKind = TaskKind> = {
  [K in Kind]: {
    readonly kind: K;
    readonly repository: string;
    /** What it is about, within its kind and repository: there is one task for it. */
    readonly subject: string;
    readonly payload: TaskPayloads[K];
  };
}[Kind];

interface TaskFacts {
  readonly id: number;
  /** How often it was asked for, as this claim saw it. */
  readonly wanted: number;
  /** How often it has failed since it last was done. */
  readonly attempts: number;
  /** An earlier attempt may have had its effect without our knowing. */
  readonly unsure: boolean;
  /** What the last one that was done left for the next, or null. */
  readonly memory: unknown;
  /** When it was first asked for. */
  readonly createdAt: number;
}
export type Task<Kind extends TaskKind = TaskKind> = TaskRequest<Kind> & TaskFacts;

export type TaskEnd =
  | { readonly type: 'done'; readonly memory: unknown }
  /** `counts`: as a failure; one that was not even tried does not. */
  | { readonly type: 'again'; readonly why: string; readonly inMs: number; readonly counts: boolean }
  | { readonly type: 'dead'; readonly why: string };

/** As people see it. */
export interface TaskRow {
  readonly id: number;
  readonly kind: TaskKind;
  readonly repository: string;
  readonly subject: string;
  readonly state: TaskState;
  readonly attempts: number;
  readonly dueAt: number;
  readonly error: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface TaskStore {
  /** Asked for again, it is still one task. Nothing happens where the repository has no forge. */
  request(task: TaskRequest): Promise<void>;
  /** What a process that is gone had claimed waits again, its effect unknown. How many. */
  recover(): Promise<number>;
  /** The due task that waits longest in a lane with fewer than `perLane` claimed; nobody gets it twice. */
  claim(perLane: number): Promise<Task | null>;
  finish(task: Pick<Task, 'id' | 'wanted'>, end: TaskEnd): Promise<void>;
  /** When the next task that is not due yet will be, or null. */
  nextDue(): Promise<number | null>;
  /** The latest first. */
  list(filter: { states: readonly TaskState[]; limit: number }): Promise<TaskRow[]>;
  /** Dead ones wait again: this one, or all where it is null. How many. */
  retry(id: number | null): Promise<number>;
  /** Somebody has deleted a comment with this text: where it was one of ours, it is made anew. */
  commentDeleted(repository: string, body: string): Promise<boolean>;
}

/** Where a repository lives. */
export interface Forge {
  readonly repository: string;
  readonly kind: ForgeKind;
  /** `owner/name` as the forge has it. */
  readonly project: string;
  /** Without a slash at its end. */
  readonly apiUrl: string;
  /** On the server's host. */
  readonly tokenFile: string;
  /** Whose token it is, as the forge says; null until it was asked. */
  readonly botLogin: string | null;
}

/** The webhook's secret is sealed before it reaches the store. */
export interface ForgeStore {
  set(forge: Forge, sealedSecret: Buffer): Promise<void>;
  remove(repository: string): Promise<boolean>;
  noteBot(repository: string, login: string): Promise<void>;
  get(repository: string): Promise<Forge | null>;
  /** By the forge's own name of it, whatever its case. */
  findByProject(kind: ForgeKind, project: string): Promise<Forge | null>;
  sealedSecret(repository: string): Promise<Buffer | null>;
  /** Whether any secret is sealed. */
  any(): Promise<boolean>;
}

/** What a comment on an issue or pull request asked for. */
export interface CommandFacts {
  /** The forge's number of the issue or pull request. */
  readonly issue: number;
  /** The forge's id of the comment. */
  readonly comment: number;
  readonly author: string;
  /** `plan`, `fix`, ... */
  readonly name: string;
}

export interface CommandStore {
  of(run: number): Promise<CommandFacts | null>;
  /** Unfinished runs of commands on this issue, received no later than `upToRun`. */
  unfinished(repository: string, issue: number, upToRun: number): Promise<number[]>;
  /** Whether one on this issue was cancelled, or is being cancelled, with exactly this reason. */
  anyCancelled(repository: string, issue: number, why: string): Promise<boolean>;
}
