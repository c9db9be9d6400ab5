import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import ssh2, { type ClientChannel } from 'ssh2';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SessionConnection } from '../../src/runner/session/session.ts';
import { PROTOCOL_VERSION } from '../../src/shared/protocol/messages.ts';
import { RawPeer } from '../support/raw-peer.ts';
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

/** A run that another session has in hand, which goes on until `end` and must notice nothing. */
async function neighbour(): Promise<{ end: () => Promise<void> }> {
  const run = await rig.add();
  const session = await rig.connect({ slot: 3, process: 'neighbour' });
  await session.lease(leaseRequest());
  const state = { going: true };
  const work = (async () => {
    let offset = 0;
    while (state.going) {
      const line = Buffer.from(`${offset} 1 o still here\n`);
      expect(await session.heartbeat(run, 1)).toEqual({ type: 'ok' });
      offset += line.length;
      expect(await session.log(run, 1, offset - line.length, line)).toEqual({ type: 'ok', offset });
      await delay(5);
    }
    expect(await session.record(run, 1, outcome('passed'), offset)).toEqual({ type: 'ok' });
  })();
  return {
    end: async () => {
      state.going = false;
      await work;
      expect((await rig.run(run)).state).toBe('passed');
    },
  };
}

async function rawChannel(hello = true): Promise<{ peer: RawPeer; channel: ClientChannel }> {
  const peer = new RawPeer(cleanup, rig.endpoint());
  expect(await peer.ready()).toBe(true);
  const channel = await peer.exec();
  if (!channel) throw new Error('no channel');
  if (hello) {
    channel.write(`${JSON.stringify({ type: 'hello', protocol: PROTOCOL_VERSION, ...HELLO })}\n`);
    await until('the welcome', () => peer.messages.length === 1);
  }
  return { peer, channel };
}

/** Writes as a peer does that minds the window, until the connection has closed. */
async function writeAll(channel: ClientChannel, peer: RawPeer, chunk: Buffer, times: number): Promise<void> {
  for (let at = 0; at < times && !peer.socket.destroyed; at++) {
    if (!channel.write(chunk)) await Promise.race([once(channel, 'drain'), peer.closed]);
  }
}

test('a line of 100 MB is an error and a closed connection, and costs no memory', async () => {
  await rig.start();
  const other = await neighbour();
  const { peer, channel } = await rawChannel();
  const before = process.memoryUsage().rss;
  await writeAll(channel, peer, Buffer.alloc(1024 * 1024, 'a'), 100);
  await peer.closed;
  expect(peer.messages.at(-1)).toMatchObject({
    type: 'error',
    why: expect.stringContaining('longer than 8388608'),
  });
  expect(process.memoryUsage().rss - before).toBeLessThan(90 * 1024 * 1024);
  await other.end();
});

test('half a message is an error and a closed connection, whether the channel ends or just stands', async () => {
  await rig.start({ limits: { stallMs: 200 } });
  const other = await neighbour();
  const ended = await rawChannel();
  ended.channel.end('{"type":"heartbeat","ru');
  await ended.peer.closed;
  expect(ended.peer.messages.at(-1)).toMatchObject({ type: 'error' });
  const standing = await rawChannel();
  standing.channel.write('{"type":"log","run":1,"attempt":1,"offset":0,"bytes":100}\nonly this');
  await standing.peer.closed;
  expect(standing.peer.messages.at(-1)).toEqual({
    type: 'error',
    why: 'the rest of a message did not come',
  });
  await other.end();
});

test('binary noise is an error and a closed connection: in the channel, in the SSH stream, before it', async () => {
  await rig.start({ limits: { handshakeMs: 1000 } });
  const other = await neighbour();
  const { peer, channel } = await rawChannel(false);
  channel.write(Buffer.concat([randomBytes(64 * 1024), Buffer.from('\n')]));
  await peer.closed;
  expect(peer.messages).toEqual([{ type: 'error', why: 'a line is no JSON' }]);

  const within = await rawChannel();
  within.peer.socket.write(randomBytes(64 * 1024));
  await within.peer.closed;

  const bare = net.connect(rig.server.port, '127.0.0.1');
  bare.on('error', () => {});
  bare.write(randomBytes(64 * 1024));
  bare.resume();
  await new Promise((resolve) => bare.once('close', resolve));
  await other.end();
});

test('200 channels are an error and a closed connection', async () => {
  await rig.start();
  const other = await neighbour();
  const { peer } = await rawChannel();
  const opened = await Promise.all(Array.from({ length: 200 }, () => peer.exec()));
  await peer.closed;
  expect(opened.filter((channel) => channel !== null)).toEqual([]);
  expect(peer.messages.at(-1)).toEqual({ type: 'error', why: 'a connection has one channel' });
  await other.end();
});

test('a peer that does not keep to the window is cut off', async () => {
  let release = () => {};
  const stuck = new Promise<void>((resolve) => (release = resolve));
  cleanup.defer(() => release());
  const { runs } = rig.store;
  const slow = {
    ...rig.store,
    runs: new Proxy(runs, {
      get: (target, name) =>
        name === 'renew'
          ? () => stuck.then(() => ({ ok: false, why: 'x' }))
          : Reflect.get(target, name).bind(target),
    }),
  };
  await rig.start({ store: slow });
  const { peer, channel } = await rawChannel();
  const line = Buffer.from('{"type":"log","run":1,"attempt":1,"offset":0,"bytes":262144}\n');
  const frame = Buffer.concat([line, Buffer.alloc(262144)]);
  const ungoverned = channel as unknown as { outgoing: { window: number } };
  for (let at = 0; at < 64; at++) {
    ungoverned.outgoing.window = 2 ** 31;
    channel.write(frame);
  }
  await peer.closed;
  expect(rig.notes.join()).toContain('window');
});

test('sockets that say nothing go away, and are capped in all and by address', async () => {
  await rig.start({ limits: { handshakeMs: 300, unwelcomedOfAddress: 3 } });
  const sockets = Array.from({ length: 5 }, () => net.connect(rig.server.port, '127.0.0.1'));
  const closedAt: number[] = [];
  const since = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      socket.on('error', () => {}).resume();
      await new Promise((resolve) => socket.once('close', resolve));
      closedAt.push(performance.now() - since);
    }),
  );
  expect(closedAt.filter((ms) => ms < 250)).toHaveLength(2);
  expect(closedAt.filter((ms) => ms >= 250)).toHaveLength(3);
  expect((await rig.try()).ok).toBe(true);
});

test('an authenticated peer that never says hello is told so', async () => {
  await rig.start({ limits: { handshakeMs: 400 } });
  const { peer } = await rawChannel(false);
  await peer.closed;
  expect(peer.messages).toEqual([{ type: 'error', why: "no 'hello' came in time" }]);
});

test('a key that is not known gets no channel, whatever account it names', async () => {
  await rig.start();
  const stranger = { privateKey: (await rig.account('other')).privateKey };
  const unknown = new RawPeer(cleanup, rig.endpoint({ account: 'build1', ...stranger }));
  expect(await unknown.ready()).toBe(false);
  const password = new RawPeer(cleanup, rig.endpoint(), { authHandler: ['password'], password: 'x' });
  expect(await password.ready()).toBe(false);
  const refused = await rig.try({}, { account: 'nobody' });
  expect(refused).toMatchObject({ ok: false, disconnect: { reason: 'auth' } });
});

test('a known public key without its private half gets no channel', async () => {
  await rig.start();
  class Forger extends ssh2.BaseAgent {
    override getIdentities(done: (error: undefined, keys: string[]) => void): void {
      done(undefined, [rig.key.publicKey]);
    }
    override sign(_key: unknown, _data: Buffer, ...rest: unknown[]): void {
      const done = rest.at(-1) as (error: undefined, signature: Buffer) => void;
      done(undefined, Buffer.alloc(64, 7));
    }
  }
  const { privateKey: _none, ...endpoint } = rig.endpoint();
  const config = { authHandler: ['agent' as const], agent: new Forger() };
  const peer = new RawPeer(cleanup, { ...endpoint, privateKey: rig.key.privateKey }, config);
  expect(await peer.ready()).toBe(false);
});

test('a job that no message can hold ends as refused and goes to no other host', async () => {
  await rig.start({ limits: { lineBytes: 400 } });
  const session = await rig.connect();
  const run = await rig.add();
  expect(await session.lease(leaseRequest())).toEqual({ type: 'idle' });
  expect(await rig.run(run)).toMatchObject({ state: 'refused', reason: 'bad-job' });
});

test('after three keys that do not do, the connection is closed', async () => {
  await rig.start();
  let tries = 0;
  const { privateKey } = await rig.account('other');
  const peer = new RawPeer(cleanup, rig.endpoint(), {
    authHandler: (_left, _partial, next) => {
      tries++;
      next({ type: 'publickey', username: 'build1', key: privateKey });
    },
  });
  expect(await peer.ready()).toBe(false);
  await peer.closed;
  expect(tries).toBeLessThanOrEqual(4);
});

test('only the runner command can be executed', async () => {
  await rig.start();
  const peer = new RawPeer(cleanup, rig.endpoint());
  await peer.ready();
  expect(await peer.exec('rm -rf /')).toBe(null);
  await peer.closed;
});

test('a known account cannot report on the run of another one, nor on another attempt', async () => {
  await rig.start();
  const run = await rig.add();
  const owner = await rig.connect();
  await owner.lease(leaseRequest());
  await owner.log(run, 1, 0, Buffer.from('mine'));
  const thief = await rig.connect({ machine: 'elsewhere' }, await rig.account('other'));
  const bytes = Buffer.from('yours');
  const all = async (session: SessionConnection, attempt: number) => [
    await session.heartbeat(run, attempt),
    await session.log(run, attempt, 4, bytes),
    await session.artifact(run, attempt, { name: 'a', offset: 0, bytes, last: false, sha256: null }),
    await session.record(run, attempt, outcome('failed'), 0),
    await session.record(run, attempt, outcome('failed'), 100),
  ];
  for (const reply of await all(thief, 1)) expect(reply.type).toBe('stale');
  for (const reply of await all(owner, 2)) expect(reply.type).toBe('stale');
  expect(await rig.logs.length(run, 1)).toBe(4);
  expect((await rig.run(run)).state).toBe('running');
  // Another session of the owner's account may: that is what a reconnect is.
  const again = await rig.connect({ slot: 1 });
  expect(await again.record(run, 1, outcome('passed'), 4)).toEqual({ type: 'ok' });
});

test('sessions over a cap are told busy, of an account and in all', async () => {
  await rig.start({ maxSessions: 3, maxSessionsPerAccount: 2 });
  await rig.connect({ slot: 0 });
  const second = await rig.connect({ slot: 1 });
  const third = await rig.try({ slot: 2 });
  expect(third).toMatchObject({
    ok: false,
    disconnect: { reason: 'busy', why: expect.stringContaining('build1') },
  });
  await rig.connect({ slot: 0 }, await rig.account('other'));
  const fourth = await rig.try({ slot: 1 }, await rig.account('third'));
  expect(fourth).toMatchObject({ ok: false, disconnect: { reason: 'busy' } });
  await second.close();
  await until('there is room', async () => (await rig.try({ slot: 2 })).ok);
});

test('what goes wrong in one session ends only that one', async () => {
  const { runs } = rig.store;
  const broken = {
    ...rig.store,
    runs: new Proxy(runs, {
      get: (target, name) =>
        name === 'heartbeat'
          ? () => Promise.reject(new Error('the disk is gone'))
          : Reflect.get(target, name).bind(target),
    }),
  };
  await rig.start({ store: broken });
  const run = await rig.add();
  const [first, second] = [await rig.connect({ slot: 0 }), await rig.connect({ slot: 1 })];
  await second.lease(leaseRequest());
  expect(await first.heartbeat(run, 1)).toMatchObject({
    type: 'disconnected',
    disconnect: { reason: 'protocol' },
  });
  expect(rig.notes.join()).toContain('the disk is gone');
  expect(await second.log(run, 1, 0, Buffer.from('a'))).toEqual({ type: 'ok', offset: 1 });
});

test('a key that was removed leases nothing more', async () => {
  await rig.start();
  const session = await rig.connect();
  await rig.add();
  await rig.store.accounts.removeKeys('build1', null);
  expect(await session.lease(leaseRequest())).toMatchObject({
    type: 'disconnected',
    disconnect: { reason: 'protocol', why: expect.stringContaining('no longer') },
  });
  expect((await rig.try()).ok).toBe(false);
});
