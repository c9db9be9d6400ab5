import { EventEmitter, once } from 'node:events';

export interface ForgeIssue {
  readonly number: number;
  /** `sha` of a branch of the project itself is where the branch is, if it has one in git. */
  readonly pull: { sha: string; ref: string; repository: string | null } | null;
  title: string;
  body: string;
  open: boolean;
  locked: boolean;
}

export interface StoredComment {
  readonly id: number;
  readonly issue: number;
  readonly author: string;
  body: string;
  updatedAt: number;
}

export interface StoredStatus {
  readonly id: number;
  readonly sha: string;
  readonly context: string;
  readonly state: string;
  readonly description: string;
  readonly target_url: string;
}

export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: string;
  readonly at: number;
  /** What was answered; null where nothing was, or not all of it. */
  status: number | null;
}

/** One repository as the forge keeps it. */
export class Project {
  readonly name: string;
  readonly permissions = new Map<string, string>();
  readonly issues = new Map<number, ForgeIssue>();
  readonly comments = new Map<number, StoredComment>();
  /** Every one that was posted, oldest first. */
  readonly statuses: StoredStatus[] = [];
  /** Commits that it has; null takes any. */
  commits: Set<string> | null = null;
  /** Its repository on disk; null where it has none. */
  bare: string | null = null;

  constructor(name: string) {
    this.name = name;
  }

  issue(number: number, pull: ForgeIssue['pull'] = null): ForgeIssue {
    const issue = { number, pull, title: `Issue ${number}`, body: '', open: true, locked: false };
    this.issues.set(number, issue);
    return issue;
  }

  /** The latest of each context, as pages show them. */
  shown(sha: string): StoredStatus[] {
    const latest = new Map<string, StoredStatus>();
    for (const status of this.statuses) if (status.sha === sha) latest.set(status.context, status);
    return [...latest.values()];
  }

  commentsOf(issue: number): StoredComment[] {
    return [...this.comments.values()].filter((comment) => comment.issue === issue);
  }
}

export interface Token {
  readonly login: string;
  /** What it may do beside reading; an empty one only reads. */
  readonly scopes: ReadonlySet<'repository' | 'issue' | 'user'>;
}

/** All that the stand-in knows. `changed` is told of every request that has ended. */
export class ForgeState {
  readonly projects = new Map<string, Project>();
  readonly users = new Set<string>();
  readonly tokens = new Map<string, Token>();
  readonly requests: SeenRequest[] = [];
  readonly #events = new EventEmitter().setMaxListeners(0);
  #ids = 100;

  nextId(): number {
    this.#ids += 1;
    return this.#ids;
  }

  changed(): void {
    this.#events.emit('changed');
  }

  /** Looks after every request that has ended, and gives what it found. */
  async until<T>(what: string, look: () => T | null | undefined | false, deadlineMs = 30_000): Promise<T> {
    const late = AbortSignal.timeout(deadlineMs);
    for (;;) {
      const found = look();
      if (found !== null && found !== undefined && found !== false) return found;
      try {
        await once(this.#events, 'changed', { signal: late });
      } catch {
        throw new Error(`waited ${deadlineMs} ms in vain: ${what}\n${this.#lately()}`);
      }
    }
  }

  #lately(): string {
    return this.requests
      .slice(-30)
      .map(({ method, path, status }) => `${method} ${path} ${status}`)
      .join('\n');
  }
}
