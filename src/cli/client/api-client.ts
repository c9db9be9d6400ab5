import http from 'node:http';
import https from 'node:https';
import type { z } from 'zod';
import { faultSchema } from '../../shared/api.ts';
import { oneLine, remedyOf, VoleError } from '../../shared/errors.ts';
import type { Locate, Location } from './locate.ts';

const CONNECT_MS = 10_000;
/** For what a server only has to look up. What it is to do may include the first fetch of a large repository. */
const REPLY_MS = { get: 60_000, other: 30 * 60_000 };
const REPLY_LIMIT_BYTES = 64 * 1024 * 1024;

export interface RequestBody {
  readonly type: string;
  readonly bytes: Uint8Array;
}

export function json(value: unknown): RequestBody {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) };
}

/**
 * The HTTP API from a command's side. A reply that is no 2xx becomes a `VoleError` with the server's own
 * code and line; no answer is `server-unreachable`. Node's own client, since `fetch` gives up on a
 * reply that takes five minutes, as the first fetch of a large repository may.
 */
export class ApiClient {
  readonly #locate: Locate;
  readonly #replyMs: typeof REPLY_MS;

  constructor(locate: Locate, replyMs = REPLY_MS) {
    this.#locate = locate;
    this.#replyMs = replyMs;
  }

  async location(): Promise<Location> {
    const location = await this.#locate();
    if (location === null) {
      throw new VoleError(
        'server-unreachable',
        'no server runs on this data directory: start it with `vole server --data DIR`',
      );
    }
    return location;
  }

  async get<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T>> {
    return this.send('GET', path, null, schema);
  }

  async send<T extends z.ZodType>(
    method: string,
    path: string,
    body: RequestBody | null,
    schema: T,
  ): Promise<z.output<T>> {
    const location = await this.location();
    const text = await readAll(await this.#request(location, method, path, body), location);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw noVoleServer(location, 'its reply is no JSON', error);
    }
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw noVoleServer(location, 'its reply has another shape', parsed.error);
    return parsed.data;
  }

  /** A reply whose body is read as it comes. Destroy it to leave. */
  async stream(path: string): Promise<http.IncomingMessage> {
    return this.#request(await this.location(), 'GET', path, null);
  }

  #request(location: Location, method: string, path: string, body: RequestBody | null) {
    const replyMs = method === 'GET' ? this.#replyMs.get : this.#replyMs.other;
    return request(location, { method, path, body, replyMs });
  }
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: RequestBody | null;
  readonly replyMs: number;
}

/** Resolves with a 2xx, its body not yet read. */
async function request(
  location: Location,
  { method, path, body, replyMs }: Asked,
): Promise<http.IncomingMessage> {
  const headers: http.OutgoingHttpHeaders = { accept: 'application/json' };
  if (location.token !== null) headers['authorization'] = `Bearer ${location.token}`;
  if (body !== null) {
    headers['content-type'] = body.type;
    headers['content-length'] = body.bytes.byteLength;
  }
  const { request: start } = location.url.startsWith('https:') ? https : http;
  const reply = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const outgoing = start(`${location.url}${path}`, { method, headers, agent: false });
    const timer = setTimeout(
      () => outgoing.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`)),
      CONNECT_MS,
    );
    const replyTimer = setTimeout(
      () => outgoing.destroy(new Error(`connected, and no reply within ${replyMs / 1000} s`)),
      replyMs,
    );
    const settled = (): void => {
      clearTimeout(timer);
      clearTimeout(replyTimer);
    };
    outgoing.once('socket', (socket) => socket.once('connect', () => clearTimeout(timer)));
    outgoing.once('error', (error) => {
      settled();
      reject(unreachable(location, error));
    });
    outgoing.once('response', (incoming) => {
      settled();
      resolve(incoming);
    });
    outgoing.end(body?.bytes);
  });
  const status = reply.statusCode ?? 0;
  if (status >= 200 && status < 300) return reply;
  throw faultOf(status, await readAll(reply, location), location);
}

async function readAll(reply: http.IncomingMessage, location: Location): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of reply) {
      size += (part as Buffer).length;
      if (size > REPLY_LIMIT_BYTES) throw new Error('the reply is over 64 MiB');
      parts.push(part as Buffer);
    }
  } catch (error) {
    throw unreachable(location, error);
  }
  return Buffer.concat(parts).toString('utf8');
}

function faultOf(status: number, text: string, location: Location): VoleError {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // not ours
  }
  const fault = faultSchema.safeParse(value);
  if (!fault.success) return noVoleServer(location, `it answers HTTP ${status}`, undefined);
  const { code, message } = fault.data.error;
  if (code !== 'auth-refused' || status !== 401) return new VoleError(code, message);
  const remedy = location.token === null ? remedyOf('auth-refused') : 'check --token-file';
  return new VoleError(code, `${message}: ${remedy}`);
}

function noVoleServer(location: Location, why: string, cause: unknown): VoleError {
  return new VoleError('server-unreachable', `${location.url} is no vole server: ${why}`, { cause });
}

function unreachable(location: Location, error: unknown): VoleError {
  if (error instanceof VoleError) return error;
  // with two addresses for a name the message is empty and the code says it
  const why = oneLine(error) || ((error as NodeJS.ErrnoException).code ?? 'no answer');
  return new VoleError('server-unreachable', `no server answers at ${location.url}: ${why}`, {
    cause: error,
  });
}
