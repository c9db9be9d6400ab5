import type { ForgeKind } from '../../shared/api-forge.ts';
import { oneLine } from '../../shared/errors.ts';
import { DIALECTS, type Dialect } from './dialects.ts';
import { exchange, type HttpLimits, type HttpRequest } from './http.ts';
import type { RateGate } from './rate-gate.ts';
import type { ForgeFailure, Reply } from './reply.ts';

export const LIMITS: HttpLimits = { timeoutMs: 15_000, maxBytes: 8 * 1024 * 1024 };
const MOST_PAGES = 50;

export interface ApiParts {
  readonly kind: ForgeKind;
  readonly apiUrl: string;
  /** Read anew for each request, so that a token is replaced without a restart. */
  readonly token: () => Promise<Reply<string>>;
  readonly gate: RateGate;
  readonly signal: AbortSignal;
  readonly limits?: HttpLimits;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Null where the body is no JSON. */
  readonly json: unknown;
}

/** Requests to one forge's API with the token of one repository. Nothing that it says holds the token. */
export class ForgeApi {
  readonly dialect: Dialect;
  readonly #parts: ApiParts;

  constructor(parts: ApiParts) {
    this.dialect = DIALECTS[parts.kind];
    this.#parts = parts;
  }

  /** Any status is an answer, save those that ask to be left alone. `path` starts with a slash. */
  ask(method: HttpRequest['method'], path: string, body?: unknown): Promise<Reply<Answer>> {
    return this.#request(method, this.#parts.apiUrl + path, body);
  }

  /** The items of all pages. `pick` finds them in the body, or gives null where it has another shape. */
  async askAll<T>(path: string, pick: (json: unknown) => T[] | null): Promise<Reply<T[]>> {
    const items: T[] = [];
    const bare = path.replace(/\?.*$/, '');
    const query = `${path.includes('?') ? '&' : '?'}${this.dialect.pageQuery}`;
    let url: string | null = this.#parts.apiUrl + path + query;
    for (let page = 0; url !== null; page += 1) {
      if (page === MOST_PAGES) return failure(null, `GET ${bare}: over ${MOST_PAGES} pages`);
      const reply: Reply<Answer> = await this.#request('GET', url, undefined);
      if (!reply.ok) return reply;
      if (reply.value.status !== 200) return this.unexpected('GET', bare, reply.value);
      const picked = pick(reply.value.json);
      if (picked === null) return failure(200, `GET ${bare}: the answer has another shape`);
      items.push(...picked);
      url = this.#nextPage(reply.value.headers);
    }
    return { ok: true, value: items };
  }

  /** The line for a status that the caller can do nothing with. */
  unexpected(method: string, path: string, answer: Answer): ForgeFailure {
    const where = answer.status >= 300 && answer.status < 400 ? answer.headers.get('location') : null;
    const said = where === null ? messageOf(answer.json) : `moved to ${where}`;
    return failure(
      answer.status,
      `${method} ${path}: HTTP ${answer.status}${said === '' ? '' : `: ${said}`}`,
    );
  }

  async #request(method: HttpRequest['method'], url: string, body: unknown): Promise<Reply<Answer>> {
    const { gate, signal, apiUrl, limits = LIMITS } = this.#parts;
    const path = url.slice(apiUrl.length).replace(/\?.*$/, '');
    const closedMs = gate.closedForMs();
    if (closedMs > 0) {
      const why = `${apiUrl} asked to be left alone`;
      return { ok: false, status: null, why, retryAfterMs: closedMs, asked: false };
    }
    const token = await this.#parts.token();
    if (!token.ok) return token;
    const headers = { 'user-agent': 'vole', ...this.dialect.headers(token.value) };
    const request = { method, url, headers, ...(body === undefined ? {} : { body }) };
    const reply = await exchange(request, limits, signal);
    if (!reply.ok) {
      const failed = failure(null, hide(`${method} ${path}: ${reply.why}`, token.value));
      // As long again, so that the next attempt sees what this one still does there.
      return reply.late ? { ...failed, retryAfterMs: limits.timeoutMs } : failed;
    }
    const { status } = reply;
    const answer = { status, headers: reply.headers, json: parsed(hide(reply.text, token.value)) };
    const leftAloneMs = gate.note(status, reply.headers);
    if (leftAloneMs !== null) return { ...this.unexpected(method, path, answer), retryAfterMs: leftAloneMs };
    return { ok: true, value: answer };
  }

  /** Only on the same API: the token goes nowhere else. */
  #nextPage(headers: Headers): string | null {
    const link = headers.get('link') ?? '';
    const next = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(link)?.[1];
    if (next === undefined || !URL.canParse(next, this.#parts.apiUrl)) return null;
    const { pathname, search } = new URL(next, this.#parts.apiUrl);
    const base = new URL(this.#parts.apiUrl);
    const under = base.pathname.replace(/\/$/, '');
    return pathname.startsWith(`${under}/`) ? `${base.origin}${pathname}${search}` : null;
  }
}

export function failure(status: number | null, why: string): ForgeFailure {
  return { ok: false, status, why: oneLine(why), retryAfterMs: null, asked: true };
}

function hide(text: string, token: string): string {
  return text.replaceAll(token, '***');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function messageOf(json: unknown): string {
  if (typeof json !== 'object' || json === null || !('message' in json)) return '';
  return typeof json.message === 'string' ? json.message.slice(0, 200) : '';
}
