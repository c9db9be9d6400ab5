import type { Reply } from './reply.ts';

export const PERMISSIONS = ['none', 'read', 'write', 'admin', 'owner'] as const;
export type Permission = (typeof PERMISSIONS)[number];

export interface ForgeComment {
  readonly id: number;
  readonly author: string;
  readonly body: string;
}

export const COMMIT_STATES = ['pending', 'success', 'failure', 'error'] as const;
export type CommitState = (typeof COMMIT_STATES)[number];

export interface CommitStatus {
  readonly context: string;
  readonly state: CommitState;
  readonly description: string;
  /** Empty where there is none. */
  readonly url: string;
}

export interface PullRequestHead {
  readonly open: boolean;
  readonly sha: string;
  readonly ref: string;
  /** `owner/name` that it comes from; null where that is deleted. */
  readonly repository: string | null;
  readonly baseRef: string;
}

/** An issue, or a pull request as an issue. */
export interface ForgeIssue {
  readonly title: string;
  readonly body: string;
  readonly open: boolean;
  readonly pull: boolean;
}

export interface PullRequestRef {
  readonly number: number;
  /** Its page. */
  readonly url: string;
}

export interface NewPullRequest {
  readonly title: string;
  readonly body: string;
  /** Branch of the repository itself, without `refs/heads/`. */
  readonly head: string;
  readonly base: string;
}

/** What the token's owner may do in the repository, as the forge says or as a harmless try shows. */
export interface Rights {
  readonly login: string;
  /** What is missing, each as a sentence; empty where nothing is. */
  readonly missing: readonly string[];
}

/** One repository on its forge. Every method is bounded in time and size and never throws. */
export interface ForgeClient {
  whoami(): Promise<Reply<string>>;
  rights(): Promise<Reply<Rights>>;
  /** `none` also for a user that the forge does not know. */
  permission(login: string): Promise<Reply<Permission>>;
  /** Those of one issue or pull request, oldest first, changed since then. */
  comments(issue: number, sinceMs: number): Promise<Reply<ForgeComment[]>>;
  /** Null where it is not there. */
  comment(id: number): Promise<Reply<ForgeComment | null>>;
  createComment(issue: number, body: string): Promise<Reply<number>>;
  /** `gone` where it is not there any more. */
  editComment(id: number, body: string): Promise<Reply<'edited' | 'gone'>>;
  /** Null where the commit has none of this context. */
  status(sha: string, context: string): Promise<Reply<CommitStatus | null>>;
  setStatus(sha: string, status: CommitStatus): Promise<Reply<null>>;
  pullRequest(number: number): Promise<Reply<PullRequestHead>>;
  /** Null where there is none. */
  issue(number: number): Promise<Reply<ForgeIssue | null>>;
  /** The oldest open pull request that comes from this branch of the repository itself, or null. */
  openPullOf(branch: string): Promise<Reply<PullRequestRef | null>>;
  createPull(pull: NewPullRequest): Promise<Reply<PullRequestRef>>;
}
