import { afterEach, beforeEach, expect, test } from 'vitest';
import { leaseRequest, SshRig } from '../support/ssh-rig.ts';
import { outcome } from '../support/store-rig.ts';
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

test('a slot that waits for a lease loses its session with its key, and gets no run', async () => {
  const session = await rig.connect();
  const lease = session.lease(leaseRequest(60));
  await until('the lease waits', () => rig.waiting === 1);
  await rig.store.accounts.removeKeys('build1', null);
  const run = await rig.add();
  expect(await lease).toMatchObject({ type: 'disconnected', disconnect: { reason: 'protocol' } });
  await session.closed;
  expect((await rig.run(run)).state).toBe('queued');
});

test('a run and the removal of the key at once: the run stays in the queue', async () => {
  const session = await rig.connect();
  const lease = session.lease(leaseRequest(60));
  await until('the lease waits', () => rig.waiting === 1);
  const [, run] = await Promise.all([rig.store.accounts.removeKeys('build1', null), rig.add()]);
  await session.closed;
  expect((await lease).type).toBe('disconnected');
  await until('the run is queued', async () => (await rig.run(run)).state === 'queued');
});

test('a session between two requests is closed with its key, one of another key is not', async () => {
  const other = await rig.account('build2');
  const idle = await rig.connect();
  await idle.lease(leaseRequest());
  const kept = await rig.connect({}, other);
  await kept.lease(leaseRequest());
  await rig.store.accounts.removeKeys('build1', null);
  await idle.closed;
  const run = await rig.add();
  expect(await kept.lease(leaseRequest())).toMatchObject({ type: 'job', run });
});

test('a run in flight is still reported after its key went, and then the session ends', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  await rig.store.accounts.removeKeys('build1', null);
  expect(await session.heartbeat(run, 1)).toEqual({ type: 'ok' });
  expect(await session.log(run, 1, 0, Buffer.from('0 1 o hello\n'))).toEqual({ type: 'ok', offset: 12 });
  expect(await session.record(run, 1, outcome('passed'), 12)).toEqual({ type: 'ok' });
  await session.closed;
  expect(await rig.run(run)).toMatchObject({ state: 'passed', logLength: 12 });
});
