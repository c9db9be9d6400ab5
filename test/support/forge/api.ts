import { execFileSync } from 'node:child_process';
import type { ForgeIssue, ForgeState, Project, StoredComment, Token } from './state.ts';

export interface ApiCall {
  readonly method: string;
  /** Below `/api/v1`, without query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
  readonly token: Token | null;
  /** The API's own address, for `Link`. */
  readonly base: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

type Handler = (call: ApiCall, project: Project, ...parts: string[]) => ApiAnswer;

/** Bodies of a 404 as they come: sometimes JSON, sometimes a page, sometimes nothing. */
const NOT_FOUND_BODIES: readonly unknown[] = [
  { message: 'The target could not be found.', url: 'x' },
  '<html>Not found.</html>',
  '',
  { errors: null },
];
let turn = 0;

function notFound(): ApiAnswer {
  turn += 1;
  return { status: 404, body: NOT_FOUND_BODIES[turn % NOT_FOUND_BODIES.length] };
}

const forbidden = (message: string): ApiAnswer => ({ status: 403, body: { message } });

/** Gitea's API, the part that vole uses, with Gitea's oddities. */
export class GiteaApi {
  readonly #state: ForgeState;
  readonly #routes: readonly [string, RegExp, Handler][];

  constructor(state: ForgeState) {
    this.#state = state;
    this.#routes = [
      ['GET', /^$/, (call, project) => this.#repository(call, project)],
      [
        'GET',
        /^\/collaborators\/([^/]+)\/permission$/,
        (call, project, user = '') => this.#permission(call, project, decodeURIComponent(user)),
      ],
      [
        'GET',
        /^\/issues\/(\d+)\/comments$/,
        (call, project, issue) => this.#comments(call, project, Number(issue)),
      ],
      [
        'POST',
        /^\/issues\/(\d+)\/comments$/,
        (call, project, issue) => this.#create(call, project, Number(issue)),
      ],
      ['GET', /^\/issues\/comments\/(\d+)$/, (_, project, id) => this.#comment(project, Number(id))],
      ['PATCH', /^\/issues\/comments\/(\d+)$/, (call, project, id) => this.#edit(call, project, Number(id))],
      ['DELETE', /^\/issues\/comments\/(\d+)$/, (_, project, id) => this.#delete(project, Number(id))],
      ['POST', /^\/statuses\/([0-9a-f]+)$/, (call, project, sha = '') => this.#setStatus(call, project, sha)],
      [
        'GET',
        /^\/commits\/([0-9a-f]+)\/status$/,
        (call, project, sha = '') => this.#status(call, project, sha),
      ],
      ['GET', /^\/issues\/(\d+)$/, (_, project, number) => this.#issue(project, Number(number))],
      ['GET', /^\/pulls\/(\d+)$/, (_, project, number) => this.#pull(project, Number(number))],
      ['GET', /^\/pulls$/, (call, project) => this.#pulls(call, project)],
      ['POST', /^\/pulls$/, (call, project) => this.#createPull(call, project)],
    ];
  }

  answer(call: ApiCall): ApiAnswer {
    if (call.token === null) return { status: 401, body: { message: 'token is required' } };
    if (call.path === '/user') {
      return call.token.scopes.has('user')
        ? { status: 200, body: userOf(call.token.login) }
        : forbidden('token does not have at least one of required scope(s): [read:user]');
    }
    const [, owner = '', name = '', rest = ''] = /^\/repos\/([^/]+)\/([^/]+)(.*)$/.exec(call.path) ?? [];
    const project = this.#state.projects.get(`${owner}/${name}`);
    if (!project) return notFound();
    for (const [method, pattern, handler] of this.#routes) {
      const match = pattern.exec(rest);
      if (method === call.method && match) return handler(call, project, ...match.slice(1));
    }
    return notFound();
  }

  #repository({ token }: ApiCall, project: Project): ApiAnswer {
    const has = project.permissions.get(token?.login ?? '') ?? 'none';
    if (has === 'none') return notFound();
    const admin = has === 'admin' || has === 'owner';
    return {
      status: 200,
      body: { full_name: project.name, permissions: { admin, push: admin || has === 'write', pull: true } },
    };
  }

  #permission({ token }: ApiCall, project: Project, user: string): ApiAnswer {
    const own = project.permissions.get(token?.login ?? '');
    if (own !== 'admin' && own !== 'owner' && token?.login !== user) return forbidden('Must be admin');
    if (!this.#state.users.has(user)) return notFound();
    const permission = project.permissions.get(user) ?? 'none';
    return { status: 200, body: { permission, role_name: permission, user: userOf(user) } };
  }

  /** Not paged, oldest first. */
  #comments({ query }: ApiCall, project: Project, issue: number): ApiAnswer {
    if (!project.issues.has(issue)) return { status: 500, body: { message: 'issue does not exist' } };
    const since = Date.parse(query.get('since') ?? '') || 0;
    const listed = project.commentsOf(issue).filter(({ updatedAt }) => updatedAt >= since);
    return { status: 200, body: listed.map(commentView) };
  }

  #create({ token, body }: ApiCall, project: Project, issue: number): ApiAnswer {
    if (!token?.scopes.has('issue'))
      return forbidden('token does not have at least one of required scope(s)');
    const found = project.issues.get(issue);
    if (!found) return notFound();
    if (found.locked) return { status: 423, body: { message: 'locked' } };
    const comment = this.addComment(project, issue, token.login, String(body['body']));
    return { status: 201, body: commentView(comment) };
  }

  #comment(project: Project, id: number): ApiAnswer {
    const comment = project.comments.get(id);
    return comment ? { status: 200, body: commentView(comment) } : notFound();
  }

  #edit({ token, body }: ApiCall, project: Project, id: number): ApiAnswer {
    const comment = project.comments.get(id);
    if (!comment) return notFound();
    if (comment.author !== token?.login) return forbidden('not yours');
    comment.body = String(body['body']);
    comment.updatedAt = Date.now();
    return { status: 200, body: commentView(comment) };
  }

  #delete(project: Project, id: number): ApiAnswer {
    return project.comments.delete(id) ? { status: 204, body: '' } : notFound();
  }

  #setStatus({ token, body }: ApiCall, project: Project, sha: string): ApiAnswer {
    const has = project.permissions.get(token?.login ?? '');
    if (!token?.scopes.has('repository') || !['write', 'admin', 'owner'].includes(has ?? ''))
      return forbidden('token does not have at least one of required scope(s)');
    if (/^0+$/.test(sha) || (project.commits !== null && !project.commits.has(sha))) return notFound();
    const { state, context, description = '', target_url = '' } = body;
    if (!['pending', 'success', 'error', 'failure', 'warning'].includes(String(state)))
      return { status: 422, body: { message: 'bad state' } };
    const status = {
      id: this.#state.nextId(),
      sha,
      context: String(context),
      state: String(state),
      description: String(description),
      target_url: String(target_url),
    };
    project.statuses.push(status);
    return { status: 201, body: { ...status, status: status.state } };
  }

  /** Paged, the latest of each context; an item names its state `status`. */
  #status({ query, base, path }: ApiCall, project: Project, sha: string): ApiAnswer {
    const limit = Math.min(50, Number(query.get('limit') ?? 30));
    const page = Number(query.get('page') ?? 1);
    const all = project.shown(sha);
    const statuses = all.slice((page - 1) * limit, page * limit).map((status) => ({
      id: status.id,
      context: status.context,
      status: status.state,
      description: status.description,
      target_url: status.target_url,
    }));
    const more = all.length > page * limit;
    const next = `<${base}${path}?limit=${limit}&page=${page + 1}>; rel="next"`;
    return {
      status: 200,
      body: { sha, state: 'pending', statuses },
      ...(more ? { headers: { link: next } } : {}),
    };
  }

  #pull(project: Project, number: number): ApiAnswer {
    const issue = project.issues.get(number);
    return issue?.pull ? { status: 200, body: this.#pullView(project, issue) } : notFound();
  }

  #pullView(project: Project, issue: ForgeIssue): Record<string, unknown> {
    const { number, title, body, open } = issue;
    const { sha = '', ref = '', repository = null } = issue.pull ?? {};
    const own = repository === project.name ? headOf(project, ref) : null;
    return {
      number,
      title,
      body,
      state: open ? 'open' : 'closed',
      html_url: `https://forge.example/${project.name}/pulls/${number}`,
      head: { sha: own ?? sha, ref, repo: repository === null ? null : { full_name: repository } },
      base: { ref: 'main', repo: { full_name: project.name } },
    };
  }

  #issue(project: Project, number: number): ApiAnswer {
    const issue = project.issues.get(number);
    if (!issue) return notFound();
    const { title, body, open, pull } = issue;
    return {
      status: 200,
      body: { number, title, body, state: open ? 'open' : 'closed', pull_request: pull && { merged: false } },
    };
  }

  /** Paged, the latest first; by no branch. */
  #pulls({ query, base, path }: ApiCall, project: Project): ApiAnswer {
    const limit = Math.min(50, Number(query.get('limit') ?? 30));
    const page = Number(query.get('page') ?? 1);
    const state = query.get('state') ?? 'open';
    const all = [...project.issues.values()]
      .filter(({ pull, open }) => pull !== null && (state === 'all' || open === (state === 'open')))
      .sort((a, b) => b.number - a.number);
    const shown = all.slice((page - 1) * limit, page * limit).map((issue) => this.#pullView(project, issue));
    const next = `<${base}${path}?state=${state}&limit=${limit}&page=${page + 1}>; rel="next"`;
    return { status: 200, body: shown, ...(all.length > page * limit ? { headers: { link: next } } : {}) };
  }

  #createPull({ token, body }: ApiCall, project: Project): ApiAnswer {
    if (!token?.scopes.has('repository'))
      return forbidden('token does not have at least one of required scope(s)');
    const ref = String(body['head']);
    const sha = headOf(project, ref);
    if (sha === null || headOf(project, String(body['base'])) === null) return notFound();
    const there = [...project.issues.values()].some(
      ({ pull, open }) => open && pull?.ref === ref && pull.repository === project.name,
    );
    if (there) return { status: 409, body: { message: 'pull request already exists for these targets' } };
    const number = Math.max(0, ...project.issues.keys()) + 1;
    const issue = project.issue(number, { sha, ref, repository: project.name });
    issue.title = String(body['title']);
    issue.body = String(body['body']);
    return { status: 201, body: this.#pullView(project, issue) };
  }

  addComment(project: Project, issue: number, author: string, body: string): StoredComment {
    const comment = { id: this.#state.nextId(), issue, author, body, updatedAt: Date.now() };
    project.comments.set(comment.id, comment);
    return comment;
  }
}

/** Where a branch of the project's repository is; null where it has none of this name. */
function headOf({ bare }: Project, branch: string): string | null {
  if (bare === null) return null;
  const args = ['for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`];
  return execFileSync('git', args, { cwd: bare, encoding: 'utf8' }).trim().split('\n', 1)[0] || null;
}

function userOf(login: string): Record<string, unknown> {
  return { id: 1, login, username: login, email: '' };
}

function commentView(comment: StoredComment): Record<string, unknown> {
  const { id, body, author, updatedAt } = comment;
  return { id, body, user: userOf(author), updated_at: new Date(updatedAt).toISOString() };
}
