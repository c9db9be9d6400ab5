import type { AgentCommand } from '../../shared/agent/spec.ts';

export interface PushEvent {
  readonly kind: 'push';
  /** In full: `refs/heads/main`, `refs/tags/v1`. */
  readonly ref: string;
  /** Null where the branch or tag is new. */
  readonly before: string | null;
  /** The commit, or an annotated tag's own object. */
  readonly after: string;
}

export interface PullRequestEvent {
  readonly kind: 'pull_request';
  readonly number: number;
  /** The branch that it goes into, without `refs/heads/`. */
  readonly base: string;
  readonly sha: string;
  /** From another repository, also one that is gone. */
  readonly fork: boolean;
}

/** A comment that asks for something. `issue` is the forge's number of the issue or pull request. */
interface AskingComment {
  readonly issue: number;
  readonly pull: boolean;
  readonly comment: number;
  /** Login of who wrote it. */
  readonly author: string;
}

export interface CommandEvent extends AskingComment {
  readonly kind: 'command';
  readonly name: AgentCommand;
  /** What follows the command's name, trimmed; may be empty. */
  readonly message: string;
}

export interface AbortEvent extends AskingComment {
  readonly kind: 'abort';
}

/** A comment of vole's own that somebody deleted; its body says which one it was. */
export interface CommentDeletedEvent {
  readonly kind: 'comment-deleted';
  readonly issue: number;
  readonly body: string;
}

/** Of a delivery, what vole acts on: everything else in it is not kept. */
export type ChangeEvent = PushEvent | PullRequestEvent;
export type CommentEvent = CommandEvent | AbortEvent | CommentDeletedEvent;
export type HookEvent = ChangeEvent | CommentEvent;

/** Changes wait for git; comments never wait for them. */
export type Lane = 'changes' | 'comments';

export function laneOf(event: HookEvent): Lane {
  return event.kind === 'push' || event.kind === 'pull_request' ? 'changes' : 'comments';
}

/** The comment that may cause something once only, or null. */
export function commentOf(event: HookEvent): number | null {
  return event.kind === 'command' || event.kind === 'abort' ? event.comment : null;
}
