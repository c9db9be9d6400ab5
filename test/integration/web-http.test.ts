import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiClient } from '../../src/cli/client/api-client.ts';
import { followRun } from '../../src/cli/client/follow.ts';
import { createApp } from '../../src/server/web/app.ts';
import { type HttpEndpoint, listenHttp, urlOf } from '../../src/server/web/http-endpoint.ts';
import { runListSchema } from '../../src/shared/api.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';
import { aRun, Parts, TOKEN } from '../support/web-parts.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

async function served(parts: Parts, port = 0): Promise<HttpEndpoint> {
  const endpoint = await listenHttp(createApp(parts.parts()), { host: '127.0.0.1', port });
  cleanup.defer(async () => {
    parts.closing.abort();
    await endpoint.close();
  });
  return endpoint;
}

function running(): Parts {
  const parts = new Parts();
  parts.runs = [aRun()];
  return parts;
}

function get(url: string): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    http.get(url, { agent: false }, resolve).once('error', reject);
  });
}

describe('a log that is followed over HTTP', () => {
  it('comes with what was there, what grows, and ends with the run', async () => {
    const parts = running();
    parts.append('1 1 o first\n');
    const { url } = await served(parts);
    const reply = await get(`${url}/api/runs/1/log?follow=1`);
    let text = '';
    reply.on('data', (part: Buffer) => (text += part.toString()));
    await until('the first record', () => text === '1 1 o first\n');
    parts.append('2 1 o second\n');
    await until('the second record', () => text.endsWith('second\n'));
    expect(reply.complete).toBe(false);
    parts.append('3 1 o last\n');
    parts.become(1, { state: 'passed' });
    await once(reply, 'end');
    expect(text).toBe('1 1 o first\n2 1 o second\n3 1 o last\n');
    expect([parts.growth.size, parts.changes.size]).toEqual([0, 0]);
  });

  it('costs a slow reader little memory and loses it nothing', async () => {
    const parts = running();
    const bytes = Buffer.alloc(64 * 1024 * 1024, '0123456789abcde\n');
    parts.append(bytes);
    const { port } = await served(parts);
    const socket = net.connect(port, '127.0.0.1');
    cleanup.defer(() => void socket.destroy());
    socket.pause();
    socket.write('GET /api/runs/1/log?follow=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    let before = -1;
    await until('the server has stopped reading', async () => {
      const stopped = parts.readTo > 0 && parts.readTo === before;
      before = parts.readTo;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return stopped;
    });
    // what the kernel's buffers of both ends take, and a few chunks
    expect(parts.readTo).toBeLessThan(16 * 1024 * 1024);
    parts.become(1, { state: 'passed' });
    let received = 0;
    socket.on('data', (part: Buffer) => (received += part.length));
    socket.resume();
    await once(socket, 'end');
    expect(parts.readTo).toBe(bytes.length);
    expect(received).toBeGreaterThan(bytes.length);
  });

  it('holds nothing for a reader that has gone', async () => {
    const parts = running();
    const { url } = await served(parts);
    const reply = await get(`${url}/api/runs/1/log?follow=1`);
    await until('it listens', () => parts.growth.size === 1);
    reply.destroy();
    await until('it has let go', () => parts.growth.size === 0 && parts.changes.size === 0);
  });

  it('goes on at its offset in a client whose server was away', async () => {
    const parts = running();
    parts.append('1 1 o one\n');
    const first = await served(parts);
    const client = new ApiClient(async () => ({ url: first.url, token: null }));
    let text = '';
    const followed = followRun({
      client,
      run: 1,
      attempt: null,
      onBytes: async (part) => void (text += part.toString()),
      onNextAttempt: async () => {},
    });
    await until('the first record', () => text === '1 1 o one\n');
    parts.closing.abort();
    await first.close();
    const again = running();
    again.append('1 1 o one\n2 1 o two\n');
    again.become(1, { state: 'failed', detail: 'exit 1' });
    await served(again, first.port);
    expect((await followed).state).toBe('failed');
    expect(text).toBe('1 1 o one\n2 1 o two\n');
  });

  it('goes on with the next attempt where the run is queued again', async () => {
    const parts = running();
    const { url } = await served(parts);
    const client = new ApiClient(async () => ({ url, token: null }));
    const attempts: number[] = [];
    let text = '';
    const followed = followRun({
      client,
      run: 1,
      attempt: null,
      onBytes: async (part) => void (text += part.toString()),
      onNextAttempt: async (attempt) => {
        attempts.push(attempt);
        parts.log = Buffer.alloc(0);
        parts.append('1 1 o again\n');
        parts.become(1, { state: 'running', attempt });
      },
    });
    await until('it listens', () => parts.growth.size === 1);
    parts.append('1 1 o half\n');
    await until('the first attempt', () => text === '1 1 o half\n');
    parts.become(1, { state: 'queued' });
    await until('the second attempt', () => text.endsWith('again\n'));
    parts.become(1, { state: 'passed' });
    expect((await followed).state).toBe('passed');
    expect(attempts).toEqual([2]);
  });
});

describe('the HTTP endpoint', () => {
  it('closes within its bound though a reader neither reads nor leaves', async () => {
    const parts = running();
    parts.append(Buffer.alloc(32 * 1024 * 1024, 'x'));
    const endpoint = await served(parts);
    const socket = net.connect(endpoint.port, '127.0.0.1');
    cleanup.defer(() => void socket.destroy());
    socket.pause();
    socket.on('error', () => {});
    socket.write('GET /api/runs/1/log?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('it streams', () => parts.growth.size === 1);
    const start = performance.now();
    parts.closing.abort();
    await endpoint.close();
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it('says in one line that its address is in use, or none of this host', async () => {
    const { port } = await served(running());
    const app = createApp(running().parts());
    await expect(listenHttp(app, { host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'lock-held',
      message: `HTTP address 127.0.0.1:${port} is in use: choose another --http, or port 0`,
    });
    await expect(listenHttp(app, { host: '192.0.2.1', port: 0 })).rejects.toMatchObject({ code: 'usage' });
  });

  it('leaves the globals of its process alone', async () => {
    const before = [globalThis.Request, globalThis.Response];
    const { url } = await served(running());
    await get(`${url}/healthz`);
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
  });

  it('has a URL by which this machine reaches it', () => {
    expect(urlOf({ host: '0.0.0.0', port: 80 })).toBe('http://127.0.0.1:80');
    expect(urlOf({ host: '::', port: 80 })).toBe('http://[::1]:80');
    expect(urlOf({ host: 'ci.example', port: 80 })).toBe('http://ci.example:80');
  });
});

describe('a request with a body', () => {
  it('is bounded, also where it does not say how long it is, and may have none', async () => {
    const { url } = await served(running());
    const send = async (method: string, route: string, chunks: readonly string[]) => {
      const request = http.request(`${url}${route}`, {
        method,
        agent: false,
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      request.on('error', () => {});
      for (const chunk of chunks) request.write(chunk);
      request.end();
      const [reply] = (await once(request, 'response')) as [http.IncomingMessage];
      reply.resume();
      return reply.statusCode;
    };
    const chunk = 'x'.repeat(64 * 1024);
    expect(await send('POST', '/api/repos', [chunk, chunk, chunk])).toBe(413);
    expect(await send('POST', '/api/repos', ['{"name":"a/b",', '"cloneUrl":"/srv/x"}'])).toBe(201);
    expect(await send('DELETE', '/api/repos/a/b', [])).toBe(200);
    expect(await send('POST', '/api/runs/1/cancel', [])).toBe(200);
  });
});

describe("a command's client", () => {
  const client = (url: string) => new ApiClient(async () => ({ url, token: TOKEN }));

  it('says in one line that nobody answers', async () => {
    const endpoint = await served(running());
    await endpoint.close();
    await expect(client(endpoint.url).get('/api/runs', runListSchema)).rejects.toMatchObject({
      code: 'server-unreachable',
      exit: 69,
      message: expect.stringContaining(`no server answers at ${endpoint.url}`),
    });
  });

  it('says in one line that what answers is something else', async () => {
    const other = http.createServer((_request, reply) => void reply.writeHead(404).end('<h1>nginx'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    cleanup.defer(() => void other.close());
    const { port } = other.address() as net.AddressInfo;
    await expect(client(`http://127.0.0.1:${port}`).get('/api/runs', runListSchema)).rejects.toMatchObject({
      code: 'server-unreachable',
      message: expect.stringContaining('is no vole server: it answers HTTP 404'),
    });
  });

  it("passes the server's own line and code on", async () => {
    const { url } = await served(running());
    await expect(client(url).get('/api/runs/99', runListSchema)).rejects.toMatchObject({
      code: 'not-found',
      message: 'no run 99',
    });
    const stranger = new ApiClient(async () => ({ url, token: 'wrong' }));
    await expect(stranger.get('/api/keys', runListSchema)).rejects.toMatchObject({
      code: 'auth-refused',
      message: expect.stringMatching(/: check --token-file$/),
    });
    const nobody = new ApiClient(async () => ({ url, token: null }));
    await expect(nobody.get('/api/keys', runListSchema)).rejects.toMatchObject({
      code: 'auth-refused',
      message: expect.stringMatching(/: give --token-file a file that holds what `admin-token` in /),
    });
  });
});
