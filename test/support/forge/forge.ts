import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Cleanup } from '../temp.ts';
import { type ApiAnswer, GiteaApi } from './api.ts';
import { type Fault, StandingFault } from './faults.ts';
import { serveGit } from './git-http.ts';
import { PushedRepository } from './pushed-repository.ts';
import { ForgeState, Project, type SeenRequest, type StoredComment, type Token } from './state.ts';

export const BOT = 'vole-bot';
export const BOT_TOKEN = 'bot-token-0123456789abcdef';

/** A Gitea in this process, over real HTTP on a port of its own, with what it knows open to look into. */
export class FakeForge {
  readonly state = new ForgeState();
  readonly #api = new GiteaApi(this.state);
  readonly #root: string;
  readonly #server: http.Server;
  readonly #faults: StandingFault[] = [];
  /**
   * Called before and after each request has its effect, in both cases before it is answered; `cut` ends the
   * connection there. Git's requests have the method `GIT`; what is cut after one is the end of its answer.
   */
  intercept: (request: SeenRequest, phase: 'before' | 'after') => Promise<'cut' | 'go on'> = async () =>
    'go on';

  private constructor(root: string) {
    this.#root = root;
    this.#server = http.createServer((request, response) => void this.#serve(request, response));
  }

  /** With a bot that is the administrator of every project. */
  static async start(cleanup: Cleanup): Promise<FakeForge> {
    const forge = new FakeForge(cleanup.tempDir('vole-forge-'));
    forge.token(BOT_TOKEN, BOT);
    await new Promise<void>((resolve) => forge.#server.listen(0, '127.0.0.1', resolve));
    cleanup.defer(async () => {
      for (const fault of forge.#faults) fault.lift();
      forge.#server.closeAllConnections();
      await new Promise((resolve) => forge.#server.close(resolve));
    });
    return forge;
  }

  /** Without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get apiUrl(): string {
    return `${this.url}/api/v1`;
  }

  token(token: string, login: string, scopes: readonly string[] = ['repository', 'issue', 'user']): void {
    this.state.users.add(login);
    this.state.tokens.set(token, { login, scopes: new Set(scopes) as Token['scopes'] });
  }

  user(project: Project, login: string, permission: string): void {
    this.state.users.add(login);
    project.permissions.set(login, permission);
  }

  project(name: string): Project {
    const project = new Project(name);
    this.state.projects.set(name, project);
    this.user(project, BOT, 'admin');
    return project;
  }

  /** Makes its bare repository, which `cloneUrl` serves. */
  git(project: Project): PushedRepository {
    const bare = path.join(this.#root, `${project.name}.git`);
    project.bare = bare;
    return new PushedRepository(bare, path.join(this.#root, 'work', project.name));
  }

  cloneUrl(project: Project): string {
    return `${this.url}/${project.name}.git`;
  }

  /** As somebody does on the page. */
  comment(project: Project, issue: number, author: string, body: string): StoredComment {
    return this.#api.addComment(project, issue, author, body);
  }

  fault(fault: Fault): StandingFault {
    const standing = new StandingFault(fault);
    this.#faults.push(standing);
    return standing;
  }

  /** Requests that it has seen, by method and a pattern of the path. */
  seen(method: string, pattern: RegExp): SeenRequest[] {
    return this.state.requests.filter((request) => request.method === method && pattern.test(request.path));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    if (!url.pathname.startsWith('/api/v1')) {
      const git = { method: 'GIT', path: url.pathname, query: url.search, at: Date.now(), status: null };
      if ((await this.intercept(git, 'before')) === 'cut') return void response.destroy();
      const pusher = this.#pusher(request, url);
      if (typeof pusher === 'number') {
        const asks = pusher === 401 ? { 'www-authenticate': 'Basic realm="forge"' } : {};
        return void response.writeHead(pusher, asks).end();
      }
      await serveGit(this.#root, url.pathname, url.search.slice(1), pusher, request, response);
      const pushed = request.method === 'POST' && pusher !== '';
      if (pushed && (await this.intercept(git, 'after')) === 'cut') return void response.destroy();
      response.end();
      this.state.changed();
      return;
    }
    const method = request.method ?? 'GET';
    const seen: SeenRequest = {
      method,
      path: url.pathname.slice('/api/v1'.length),
      query: url.search,
      at: Date.now(),
      status: null,
    };
    this.state.requests.push(seen);
    const body = await readJson(request);
    if ((await this.intercept(seen, 'before')) === 'cut') response.destroy();
    else seen.status = await this.#answer(seen, url, body, request, response);
    this.state.changed();
  }

  /** Whoever pushes, an empty string where nobody has to be known, or the status that is answered instead. */
  #pusher(request: IncomingMessage, url: URL): string | 401 | 403 {
    const pushes =
      url.pathname.endsWith('/git-receive-pack') || url.searchParams.get('service') === 'git-receive-pack';
    if (!pushes) return '';
    const given = /^Basic (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const [user = '', password = ''] = Buffer.from(given, 'base64').toString().split(':', 2);
    const token = this.state.tokens.get(password) ?? this.state.tokens.get(user);
    if (token === undefined) return 401;
    const name = /^\/(.+?)\.git\//.exec(url.pathname)?.[1] ?? '';
    const permission = this.state.projects.get(name)?.permissions.get(token.login) ?? '';
    const may = token.scopes.has('repository') && ['write', 'admin', 'owner'].includes(permission);
    return may ? token.login : 403;
  }

  async #answer(
    seen: SeenRequest,
    url: URL,
    body: Record<string, unknown>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<number | null> {
    const token = /^(?:token|Bearer) (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const call = {
      method: seen.method,
      path: seen.path,
      query: url.searchParams,
      body,
      token: this.state.tokens.get(token) ?? null,
      base: this.apiUrl,
    };
    const standing = this.#faults.find((fault) => fault.applies(seen));
    if (standing) {
      const right =
        standing.fault.after === true || standing.fault.kind === 'half' ? this.#api.answer(call) : null;
      this.state.changed();
      return standing.answer(response, right === null ? '' : textOf(right));
    }
    const answer = this.#api.answer(call);
    if ((await this.intercept(seen, 'after')) === 'cut') {
      response.destroy();
      return null;
    }
    const text = textOf(answer);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.status === 204 ? undefined : text);
    return answer.status;
  }
}

function textOf({ body }: ApiAnswer): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}
