import { z } from 'zod';
import { type Answer, type ForgeApi, failure } from './api.ts';
import {
  COMMIT_STATES,
  type CommitStatus,
  type ForgeClient,
  type ForgeComment,
  type ForgeIssue,
  type NewPullRequest,
  PERMISSIONS,
  type Permission,
  type PullRequestHead,
  type PullRequestRef,
  type Rights,
} from './client.ts';
import type { ForgeFailure, Reply } from './reply.ts';
import { rightsOf } from './rights.ts';

const userSchema = z.object({ login: z.string().min(1).max(200) });
const permissionSchema = z.object({ permission: z.string() });
const commentSchema = z.object({
  id: z.number().int().positive(),
  // null where the account is gone
  user: z.object({ login: z.string() }).nullish(),
  body: z.string().nullish(),
});
const idSchema = z.object({ id: z.number().int().positive() });
const pullSchema = z.object({
  state: z.string(),
  head: z.object({
    sha: z.string().regex(/^[0-9a-f]{40,64}$/),
    ref: z.string(),
    repo: z.object({ full_name: z.string() }).nullish(),
  }),
  base: z.object({ ref: z.string() }),
});
const issueSchema = z.object({
  title: z.string(),
  body: z.string().nullish(),
  state: z.string(),
  pull_request: z.unknown(),
});
const pullRefSchema = z.object({
  number: z.number().int().positive(),
  html_url: z.string().max(1000),
  head: z.object({ ref: z.string(), repo: z.object({ full_name: z.string() }).nullish() }),
});
/** Also keeps `..` out of the path. */
const LOGIN = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,98}(?:\[bot\])?$/;

/** The three forges agree in what we use of them, save for what `Dialect` holds. */
export class RestForgeClient implements ForgeClient {
  readonly #api: ForgeApi;
  readonly #project: string;
  readonly #repo: string;

  /** `project` is `owner/name`, checked to be nothing else. */
  constructor(api: ForgeApi, project: string) {
    this.#api = api;
    this.#project = project;
    this.#repo = `/repos/${project}`;
  }

  async whoami(): Promise<Reply<string>> {
    const reply = await this.#json('GET', '/user', userSchema);
    return reply.ok ? { ok: true, value: reply.value.login } : reply;
  }

  async rights(): Promise<Reply<Rights>> {
    return rightsOf(this.#api, this.#repo, await this.whoami());
  }

  async permission(login: string): Promise<Reply<Permission>> {
    if (!LOGIN.test(login)) return { ok: true, value: 'none' };
    const path = `${this.#repo}/collaborators/${encodeURIComponent(login)}/permission`;
    const reply = await this.#api.ask('GET', path);
    if (!reply.ok) return reply;
    if (reply.value.status === 404) return { ok: true, value: 'none' };
    const read = this.#read('GET', path, reply.value, permissionSchema);
    if (!read.ok) return read;
    const known = PERMISSIONS.find((permission) => permission === read.value.permission);
    // Whatever a forge invents grants nothing.
    return { ok: true, value: known ?? 'none' };
  }

  comments(issue: number, sinceMs: number): Promise<Reply<ForgeComment[]>> {
    const since = encodeURIComponent(`${new Date(sinceMs).toISOString().slice(0, 19)}Z`);
    return this.#api.askAll(`${this.#repo}/issues/${issue}/comments?since=${since}`, (json) => {
      const list = z.array(commentSchema).safeParse(json);
      return list.success ? list.data.map(commentOf) : null;
    });
  }

  async comment(id: number): Promise<Reply<ForgeComment | null>> {
    const path = `${this.#repo}/issues/comments/${id}`;
    const reply = await this.#api.ask('GET', path);
    if (!reply.ok) return reply;
    // 204 is Gitea's for a comment that is no longer one that people wrote.
    if (reply.value.status === 404 || reply.value.status === 204) return { ok: true, value: null };
    const read = this.#read('GET', path, reply.value, commentSchema);
    return read.ok ? { ok: true, value: commentOf(read.value) } : read;
  }

  async createComment(issue: number, body: string): Promise<Reply<number>> {
    const reply = await this.#json('POST', `${this.#repo}/issues/${issue}/comments`, idSchema, { body });
    return reply.ok ? { ok: true, value: reply.value.id } : reply;
  }

  async editComment(id: number, body: string): Promise<Reply<'edited' | 'gone'>> {
    const path = `${this.#repo}/issues/comments/${id}`;
    const reply = await this.#api.ask('PATCH', path, { body });
    if (!reply.ok) return reply;
    if (reply.value.status === 404) return { ok: true, value: 'gone' };
    if (reply.value.status === 200 || reply.value.status === 204) return { ok: true, value: 'edited' };
    return this.#api.unexpected('PATCH', path, reply.value);
  }

  async status(sha: string, context: string): Promise<Reply<CommitStatus | null>> {
    const field = this.#api.dialect.statusField;
    const item = z.object({
      context: z.string(),
      description: z.string().nullish(),
      target_url: z.string().nullish(),
      [field]: z.string(),
    });
    // The combined answer holds the latest of each context.
    const shape = z.object({ statuses: z.array(item).nullish() });
    const reply = await this.#api.askAll(`${this.#repo}/commits/${sha}/status`, (json) => {
      const body = shape.safeParse(json);
      return body.success ? (body.data.statuses ?? []) : null;
    });
    if (!reply.ok) return reply;
    const found = reply.value.find((status) => status.context === context);
    if (!found) return { ok: true, value: null };
    const state = COMMIT_STATES.find((known) => known === found[field]) ?? 'error';
    return {
      ok: true,
      value: { context, state, description: found.description ?? '', url: found.target_url ?? '' },
    };
  }

  async setStatus(sha: string, status: CommitStatus): Promise<Reply<null>> {
    const path = `${this.#repo}/statuses/${sha}`;
    const { state, context, url } = status;
    const description = status.description.slice(0, this.#api.dialect.descriptionLength);
    const target = url === '' ? {} : { target_url: url };
    const reply = await this.#api.ask('POST', path, { state, context, description, ...target });
    if (!reply.ok) return reply;
    if (reply.value.status === 201 || reply.value.status === 200) return { ok: true, value: null };
    return this.#api.unexpected('POST', path, reply.value);
  }

  async pullRequest(number: number): Promise<Reply<PullRequestHead>> {
    const reply = await this.#json('GET', `${this.#repo}/pulls/${number}`, pullSchema);
    if (!reply.ok) return reply;
    const { head, base, state } = reply.value;
    return {
      ok: true,
      value: {
        open: state === 'open',
        sha: head.sha,
        ref: head.ref,
        repository: head.repo?.full_name ?? null,
        baseRef: base.ref,
      },
    };
  }

  async issue(number: number): Promise<Reply<ForgeIssue | null>> {
    const path = `${this.#repo}/issues/${number}`;
    const reply = await this.#api.ask('GET', path);
    if (!reply.ok) return reply;
    if (reply.value.status === 404 || reply.value.status === 410) return { ok: true, value: null };
    const read = this.#read('GET', path, reply.value, issueSchema);
    if (!read.ok) return read;
    const { title, body, state, pull_request: pull } = read.value;
    return {
      ok: true,
      value: { title, body: body ?? '', open: state === 'open', pull: pull !== undefined && pull !== null },
    };
  }

  async openPullOf(branch: string): Promise<Reply<PullRequestRef | null>> {
    const [owner = ''] = this.#project.split('/');
    const query = this.#api.dialect.openPullsQuery(owner, branch);
    const reply = await this.#api.askAll(`${this.#repo}/pulls?${query}`, (json) => {
      const list = z.array(pullRefSchema).safeParse(json);
      return list.success ? list.data : null;
    });
    if (!reply.ok) return reply;
    const own = reply.value
      .filter(({ head }) => head.ref === branch && isSame(head.repo?.full_name, this.#project))
      .sort((a, b) => a.number - b.number);
    const [first] = own;
    return { ok: true, value: first ? { number: first.number, url: first.html_url } : null };
  }

  async createPull(pull: NewPullRequest): Promise<Reply<PullRequestRef>> {
    const reply = await this.#json('POST', `${this.#repo}/pulls`, pullRefSchema, pull);
    return reply.ok ? { ok: true, value: { number: reply.value.number, url: reply.value.html_url } } : reply;
  }

  async #json<T extends z.ZodType>(
    method: 'GET' | 'POST',
    path: string,
    schema: T,
    body?: unknown,
  ): Promise<Reply<z.output<T>>> {
    const reply = await this.#api.ask(method, path, body);
    return reply.ok ? this.#read(method, path, reply.value, schema) : reply;
  }

  #read<T extends z.ZodType>(
    method: string,
    path: string,
    answer: Answer,
    schema: T,
  ): { ok: true; value: z.output<T> } | ForgeFailure {
    if (answer.status !== 200 && answer.status !== 201) return this.#api.unexpected(method, path, answer);
    const value = schema.safeParse(answer.json);
    if (value.success) return { ok: true, value: value.data };
    return failure(answer.status, `${method} ${path}: the answer has another shape`);
  }
}

function isSame(name: string | undefined, other: string): boolean {
  return name?.toLowerCase() === other.toLowerCase();
}

function commentOf(comment: z.output<typeof commentSchema>): ForgeComment {
  return { id: comment.id, author: comment.user?.login ?? '', body: comment.body ?? '' };
}
