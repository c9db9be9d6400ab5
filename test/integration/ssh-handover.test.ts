import { afterEach, beforeEach, expect, test } from 'vitest';
import { RawPeer } from '../support/raw-peer.ts';
import { leaseRequest, SshRig } from '../support/ssh-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';

let cleanup: Cleanup;
let rig: SshRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await SshRig.open(cleanup);
  await rig.start();
});
afterEach(() => cleanup.run());

test('a lease repeated on the session that replaces a half-open one gets the same attempt, whoever waits', async () => {
  const run = await rig.add();
  const halfOpen = await rig.connect({ slot: 0 });
  const request = leaseRequest();
  // As seen by a runner whose reply was lost: it has leased, and does not know it.
  expect(await halfOpen.lease(request)).toMatchObject({ type: 'job', run, attempt: 1 });
  const other = await rig.connect({ slot: 1 });
  const waiting = other.lease(leaseRequest(30));
  await until('another session waits for any run', () => rig.waiting === 1);

  const successor = await rig.connect({ slot: 0 });
  expect((await halfOpen.closed).reason).not.toBe('closed');
  expect(await successor.lease(request)).toMatchObject({ type: 'job', run, attempt: 1 });
  expect(await successor.heartbeat(run, 1)).toEqual({ type: 'ok' });
  expect(await rig.run(run)).toMatchObject({ state: 'running', attempt: 1 });
  expect(rig.waiting).toBe(1);
  other.destroy();
  await waiting;
});

test('a successor that asks for something else gives the lease of its predecessor back', async () => {
  const run = await rig.add();
  const halfOpen = await rig.connect({ slot: 0 });
  expect(await halfOpen.lease(leaseRequest())).toMatchObject({ type: 'job', run, attempt: 1 });
  const successor = await rig.connect({ slot: 0 });
  expect(await successor.lease(leaseRequest(30))).toMatchObject({ type: 'job', run, attempt: 2 });
});

test('a successor that goes without a word gives the lease of its predecessor back', async () => {
  const run = await rig.add();
  const halfOpen = await rig.connect({ slot: 0 });
  await halfOpen.lease(leaseRequest());
  const successor = await rig.connect({ slot: 0 });
  await halfOpen.closed;
  expect((await rig.run(run)).state).toBe('running');
  successor.destroy();
  await until('the run is queued again', async () => (await rig.run(run)).state === 'queued');
});

test('a peer that asks and takes no answers is cut off', async () => {
  await rig.stop();
  await rig.start({ limits: { unsentBytes: 256 * 1024, handshakeMs: 60_000 } }); // it never says hello
  const peer = new RawPeer(cleanup, rig.endpoint());
  expect(await peer.ready()).toBe(true);
  peer.socket.pause();
  // A global request that wants a reply: ssh2 answers it by itself.
  const { _protocol: protocol } = peer.client as unknown as { _protocol: { ping(): void } };
  const asking = setInterval(() => {
    for (let at = 0; at < 20_000 && !peer.socket.destroyed; at++) protocol.ping();
  }, 5);
  cleanup.defer(() => clearInterval(asking));
  await until('it is cut off', () => rig.notes.includes('the peer asks, and takes no answers'), 50_000);
  expect(await rig.connect()).toBeDefined();
});

test('a hello of a version too far away is refused though nothing else of it is understood', async () => {
  const peer = new RawPeer(cleanup, rig.endpoint());
  await peer.ready();
  const channel = await peer.exec();
  channel?.write(`${JSON.stringify({ type: 'hello', protocol: 9, host: { name: 'h' } })}\n`);
  await peer.closed;
  expect(peer.messages).toMatchObject([{ type: 'refused', code: 'protocol' }]);
});

test('a hello of a version that we speak, but that is no hello of it, is an error', async () => {
  const peer = new RawPeer(cleanup, rig.endpoint());
  await peer.ready();
  const channel = await peer.exec();
  channel?.write(`${JSON.stringify({ type: 'hello', protocol: 2, host: { name: 'h' } })}\n`);
  await peer.closed;
  expect(peer.messages).toMatchObject([{ type: 'error' }]);
});
