import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { AgentService } from '../../shared/agent/options.ts';
import { oneLine } from '../../shared/errors.ts';
import { withoutInstructions } from './strip-instructions.ts';

/** The one thing that is asked of the service: a tool of the agent may ask too, and for nothing else. */
const ASKED = '/chat/completions';
/** Of an answer that is an error, which is looked through for the key. */
const MOST_ERROR_BYTES = 64 * 1024;
const MOST_BODY_BYTES = 64 * 1024 * 1024;
/** What is passed on; everything else is between the two ends of a connection, or none of the agent's business. */
const TO_SERVICE = ['content-type', 'accept', 'user-agent'];
const FROM_SERVICE = ['content-type', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-request-id'];

/**
 * What the agent's server takes for the model's service: an address on loopback with a random token, behind
 * which the real one is asked with the real key. So neither the server's environment nor its configuration
 * holds the key, for its tools can read both. Answers are passed on as they come.
 */
export class ModelProxy {
  readonly #service: Pick<AgentService, 'url' | 'key'>;
  readonly #server: Server;
  readonly #prefix = `/${randomBytes(24).toString('hex')}`;

  private constructor(service: Pick<AgentService, 'url' | 'key'>) {
    this.#service = service;
    this.#server = createServer((request, response) => void this.#receive(request, response));
    // A model may think for as long as the turn lasts.
    this.#server.requestTimeout = 0;
    this.#server.timeout = 0;
  }

  static async start(service: Pick<AgentService, 'url' | 'key'>): Promise<ModelProxy> {
    const proxy = new ModelProxy(service);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** Base URL, in place of the service's. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${this.#prefix}`;
  }

  /** Idempotent. Breaks what is being answered. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || !sameText(request.url ?? '', this.#prefix + ASKED)) {
      request.resume();
      fail(response, 404, 'there is nothing at this address');
      return;
    }
    const asked = await bodyOf(request);
    if (asked === null) {
      response.destroy();
      return;
    }
    this.#pass(request, withoutInstructions(asked), response);
  }

  #pass(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const { url, key } = this.#service;
    const target = new URL(url.replace(/\/+$/, '') + ASKED);
    const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
    const headers: Record<string, string> = {
      ...picked(request.headers, TO_SERVICE),
      'content-length': String(body.length),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    };
    const asked = send(target, { method: 'POST', headers }, (answer) => {
      const type = answer.headers['content-type'];
      if ((answer.statusCode ?? 0) >= 300) void this.#passError(answer, response);
      else if (isCompletion(type)) pass(answer, response);
      else {
        answer.destroy();
        // A status that is not tried again: it is the setting that has to change.
        fail(
          response,
          400,
          `the model's service answered ${type} where a completion is expected: is --agent-url right?`,
        );
      }
    });
    asked.on('error', (error) =>
      fail(response, 502, `the model's service cannot be reached: ${oneLine(error)}`),
    );
    response.on('close', () => asked.destroy());
    asked.end(body);
  }

  /** Its text is shown to people, and some services quote the key in it. */
  async #passError(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > MOST_ERROR_BYTES) break;
        chunks.push(chunk);
      }
    } catch {
      // what there is of it says enough
    }
    const { key } = this.#service;
    const text = Buffer.concat(chunks).toString();
    if (response.headersSent || response.destroyed) return;
    response.writeHead(answer.statusCode ?? 502, picked(answer.headers, FROM_SERVICE));
    response.end(key ? text.replaceAll(key, '***') : text);
  }
}

/** Null where it is broken off, or longer than any model takes. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_BODY_BYTES) return null;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch {
    return null;
  }
}

/** One that says nothing of its kind may be one. */
function isCompletion(contentType: string | undefined): boolean {
  const kind = contentType?.split(';')[0]?.trim().toLowerCase();
  return kind === undefined || kind === 'text/event-stream' || /^application\/(?:\S+\+)?json$/.test(kind);
}

function pass(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, picked(answer.headers, FROM_SERVICE));
  response.flushHeaders();
  answer.on('error', () => response.destroy());
  answer.pipe(response);
}

function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'vole' } }));
}

function picked(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const entries = names.map((name) => [name, headers[name]]);
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
