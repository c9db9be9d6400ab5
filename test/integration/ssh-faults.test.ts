import { createServer as createHttpServer } from 'node:http';
import net from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connector } from '../../src/runner/session/connect.ts';
import { Proxy } from '../support/proxy.ts';
import { HELLO, leaseRequest, SshRig } from '../support/ssh-rig.ts';
import { outcome } from '../support/store-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';

let cleanup: Cleanup;
let rig: SshRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await SshRig.open(cleanup);
});
afterEach(() => cleanup.run());

const quick = connector({ times: { keepaliveMs: 100, keepaliveCount: 2, readyMs: 500 } });

async function listening(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  cleanup.defer(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  return (server.address() as net.AddressInfo).port;
}

test('another host key than asked for is named, both of them', async () => {
  const { fingerprint } = await rig.start();
  const wanted = `SHA256:${'A'.repeat(43)}`;
  const result = await rig.try({}, { hostKeys: [wanted] });
  expect(result).toMatchObject({ ok: false, disconnect: { reason: 'host-key' } });
  const why = result.ok ? '' : result.disconnect.why;
  expect(why).toContain(wanted);
  expect(why).toContain(fingerprint);
});

test('a server that is no SSH server is told apart from one that is not there', async () => {
  await rig.start();
  const http = await listening(createHttpServer((_request, response) => response.end('hello')));
  expect(await rig.try({}, { port: http })).toMatchObject({ ok: false, disconnect: { reason: 'not-ssh' } });
  const talker = await listening(
    net.createServer((socket) => socket.on('error', () => {}).end('220 mail\r\n')),
  );
  expect(await rig.try({}, { port: talker })).toMatchObject({ ok: false, disconnect: { reason: 'not-ssh' } });
  const silent = await listening(net.createServer((socket) => socket.on('error', () => {}).resume()));
  const nothing = await rig.try({}, { port: silent }, quick);
  expect(nothing).toMatchObject({ ok: false, disconnect: { reason: 'unreachable' } });
  const closed = net.createServer();
  const port = await listening(closed);
  await new Promise((resolve) => closed.close(resolve));
  expect(await rig.try({}, { port })).toMatchObject({
    ok: false,
    disconnect: { reason: 'unreachable', why: expect.stringContaining(`127.0.0.1:${port}`) },
  });
});

test('a key that is none is a value, not an exception', async () => {
  await rig.start();
  const result = await rig.try({}, { privateKey: Buffer.from('no key at all') });
  expect(result).toMatchObject({ ok: false, disconnect: { reason: 'auth' } });
});

test('connecting ends when told to', async () => {
  const silent = await listening(net.createServer((socket) => socket.on('error', () => {}).resume()));
  await rig.start();
  const controller = new AbortController();
  const result = connector()(rig.endpoint({ port: silent }), HELLO, { signal: controller.signal });
  controller.abort();
  expect(await result).toMatchObject({ ok: false, disconnect: { reason: 'closed' } });
});

test.each([
  { server: 3, runner: 2, works: true },
  { server: 2, runner: 3, works: true },
  { server: 3, runner: 4, works: true },
  { server: 4, runner: 3, works: true },
  { server: 3, runner: 1, works: false },
  { server: 4, runner: 2, works: false },
  { server: 2, runner: 4, works: false },
])('a server of version $server and a runner of $runner: works $works', async ({ server, runner, works }) => {
  await rig.start({ protocol: server });
  const result = await rig.try({}, {}, connector({ protocol: runner }));
  if (result.ok) {
    expect(works).toBe(true);
    expect(result.session.welcome.protocol).toBe(Math.min(server, runner));
    const run = await rig.add();
    expect(await result.session.lease(leaseRequest())).toMatchObject({ type: 'job', run });
  } else {
    expect(works).toBe(false);
    expect(result.disconnect).toMatchObject({ reason: 'refused', code: 'protocol' });
    expect(result.disconnect.why).toContain(`protocol ${runner}`);
  }
});

test('a filter that matches no repository is refused, one that matches some is not', async () => {
  await rig.start();
  expect(await rig.try({ repos: ['no/*'] })).toMatchObject({
    ok: false,
    disconnect: { reason: 'refused', code: 'repos', why: expect.stringContaining('no/*') },
  });
  expect((await rig.try({ repos: ['no/*', 'team/*'] })).ok).toBe(true);
});

test('a lease reply that never arrives: the run is executed once', async () => {
  await rig.start({ limits: { keepaliveMs: 100, keepaliveCount: 1 } });
  const proxy = await Proxy.start(cleanup, rig.server.port);
  const result = await rig.try({}, { port: proxy.port }, quick);
  if (!result.ok) throw new Error(result.disconnect.why);
  const request = leaseRequest(30);
  const lost = result.session.lease(request);
  await until('it waits', () => rig.waiting === 1);
  proxy.mode = 'drop-replies';
  const run = await rig.add();
  expect(await lost).toMatchObject({ type: 'disconnected', disconnect: { reason: 'unreachable' } });
  proxy.mode = 'pass';
  const next = await rig.connect();
  const job = await next.lease({ ...request });
  if (job.type !== 'job') throw new Error(job.type);
  expect(job.run).toBe(run);
  expect((await next.heartbeat(run, job.attempt)).type).toBe('ok');
  const other = await rig.connect({ slot: 1 });
  expect(await other.lease(leaseRequest())).toEqual({ type: 'idle' });
  expect(await next.record(run, job.attempt, outcome('passed'), 0)).toEqual({ type: 'ok' });
  expect((await rig.run(run)).lostCount).toBe(0);
});

test('a half-open predecessor is replaced by the session that says hello again', async () => {
  await rig.start();
  const proxy = await Proxy.start(cleanup, rig.server.port);
  const run = await rig.add();
  const first = await rig.connect({}, { port: proxy.port });
  await first.lease(leaseRequest());
  await first.heartbeat(run, 1);
  await first.log(run, 1, 0, Buffer.from('abc'));
  proxy.mode = 'black-hole';
  first.destroy();
  expect(rig.server.sessions()).toHaveLength(1);
  const second = await rig.connect();
  expect(rig.server.sessions()).toMatchObject([{ id: second.welcome.session }]);
  expect(await second.heartbeat(run, 1)).toEqual({ type: 'ok' });
  expect(rig.server.sessions()).toMatchObject([{ run: { id: run } }]);
  expect(await second.log(run, 1, 0, Buffer.alloc(0))).toEqual({ type: 'ok', offset: 3 });
  expect(await second.record(run, 1, outcome('passed'), 3)).toEqual({ type: 'ok' });
});

test('a connection that goes silent is noticed at both ends', async () => {
  await rig.start({ limits: { keepaliveMs: 100, keepaliveCount: 1 } });
  const proxy = await Proxy.start(cleanup, rig.server.port);
  const result = await rig.try({}, { port: proxy.port }, quick);
  if (!result.ok) throw new Error(result.disconnect.why);
  proxy.mode = 'black-hole';
  expect((await result.session.closed).reason).toBe('unreachable');
  await until('the server has noticed', () => rig.server.sessions().length === 0);
});

test('what was sent and not answered when a connection is cut is reported as that', async () => {
  await rig.start();
  const proxy = await Proxy.start(cleanup, rig.server.port);
  const run = await rig.add();
  const session = await rig.connect({}, { port: proxy.port });
  await session.lease(leaseRequest());
  await session.heartbeat(run, 1);
  const frame = Buffer.alloc(256 * 1024, 'x');
  proxy.mode = 'black-hole';
  // More than the socket and the window take: some of it waits for a drain that never comes.
  const replies = Array.from({ length: 30 }, (_, at) => session.log(run, 1, at * frame.length, frame));
  const beat = session.heartbeat(run, 1);
  proxy.cut();
  for (const reply of await Promise.all([...replies, beat])) expect(reply.type).toBe('disconnected');
  proxy.mode = 'pass';
  const next = await rig.connect();
  const there = await next.log(run, 1, 0, Buffer.alloc(0));
  expect(there.type === 'ok' && there.offset !== undefined).toBe(true);
});

test('a server that stops and starts again finds its host key, and the log where it was', async () => {
  const before = await rig.start();
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  await session.heartbeat(run, 1);
  await session.log(run, 1, 0, Buffer.from('abc'));
  await rig.stop();
  expect((await session.closed).reason).toBe('unreachable');
  const after = await rig.start();
  expect(after.fingerprint).toBe(before.fingerprint);
  const next = await rig.connect();
  expect(await next.heartbeat(run, 1)).toEqual({ type: 'ok' });
  expect(await next.log(run, 1, 3, Buffer.from('de'))).toEqual({ type: 'ok', offset: 5 });
  expect(await next.record(run, 1, outcome('passed'), 5)).toEqual({ type: 'ok' });
});

test('a record whose reply never arrives is sent again, and is taken for what it is', async () => {
  await rig.start();
  const proxy = await Proxy.start(cleanup, rig.server.port);
  const run = await rig.add();
  const session = await rig.connect({}, { port: proxy.port });
  await session.lease(leaseRequest());
  await session.heartbeat(run, 1);
  await session.log(run, 1, 0, Buffer.from('abc'));
  proxy.mode = 'drop-replies';
  const lost = session.record(run, 1, outcome('passed'), 3);
  await until('it is recorded', async () => (await rig.run(run)).state === 'passed');
  proxy.cut();
  expect((await lost).type).toBe('disconnected');
  proxy.mode = 'pass';
  const next = await rig.connect();
  expect(await next.record(run, 1, outcome('passed'), 3)).toEqual({ type: 'ok' });
  const thief = await rig.connect({}, await rig.account('other'));
  expect((await thief.record(run, 1, outcome('passed'), 3)).type).toBe('stale');
});

test('a job that was given but never accepted is not executed under its old attempt', async () => {
  await rig.start();
  const run = await rig.add();
  const first = await rig.connect({ slot: 0 });
  await first.lease(leaseRequest());
  first.destroy();
  await until('it is queued again', async () => (await rig.run(run)).state === 'queued');
  const second = await rig.connect({ slot: 0 });
  expect((await second.heartbeat(run, 1)).type).toBe('stale');
  expect(await second.lease(leaseRequest())).toMatchObject({ type: 'job', run, attempt: 2 });
});
