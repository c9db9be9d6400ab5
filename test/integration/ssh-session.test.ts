import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LogRest, RunRecord } from '../../src/runner/session/session.ts';
import { leaseRequest, SshRig } from '../support/ssh-rig.ts';
import { newPipeline, newRun, outcome } from '../support/store-rig.ts';
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

test('a session leases a run, accepts it, sends its log and its record', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  expect(session.welcome).toMatchObject({ server: '0123abcd', protocol: 3, leaseSeconds: 60 });
  const job = await session.lease(leaseRequest());
  expect(job).toMatchObject({ type: 'job', run, attempt: 1 });
  expect(await session.heartbeat(run, 1)).toEqual({ type: 'ok' });
  expect(rig.server.sessions()).toMatchObject([{ account: 'build1', slot: 0, run: { id: run, attempt: 1 } }]);
  expect(await session.log(run, 1, 0, Buffer.from('0 1 o hello\n'))).toEqual({ type: 'ok', offset: 12 });
  expect(await session.record(run, 1, outcome('passed'), 12)).toEqual({ type: 'ok' });
  expect(await rig.run(run)).toMatchObject({ state: 'passed', logLength: 12 });
  expect(rig.server.sessions()).toMatchObject([{ run: null }]);
  await session.close();
  expect((await session.closed).reason).toBe('closed');
  await until('the session is gone', () => rig.server.sessions().length === 0);
});

test('a record that no lease comes with lets another slot of its process take what is free now', async () => {
  const slot = (process: string, at: number) => rig.connect({ process, slot: at, slots: 2, cpus: 1 });
  const first = await rig.add();
  const [mine, beside] = [await slot('p', 0), await slot('p', 1)];
  expect(await mine.lease({ ...leaseRequest(), freeCpus: 1 })).toMatchObject({ run: first });
  await rig.add();
  const [others, otherBeside] = [await slot('q', 0), await slot('q', 1)];
  await others.lease({ ...leaseRequest(), freeCpus: 1 });
  // Both see no core free, and the other process was the first to ask.
  const otherWaits = otherBeside.lease({ ...leaseRequest(60), freeCpus: 0 });
  await until('it waits', () => rig.waiting === 1);
  const waits = beside.lease({ ...leaseRequest(60), freeCpus: 0 });
  await until('both wait', () => rig.waiting === 2);
  const run = await rig.add();
  expect(await mine.record(first, 1, outcome('passed'), 0)).toEqual({ type: 'ok' });
  expect(await Promise.race([waits, otherWaits])).toMatchObject({ type: 'job', run });
});

test('log frames that follow one another are answered in order, and the file is whole', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  const frames = Array.from({ length: 40 }, (_, at) => Buffer.alloc(256 * 1024, at));
  const replies = await Promise.all(frames.map((frame, at) => session.log(run, 1, at * frame.length, frame)));
  expect(replies.map((reply) => (reply.type === 'ok' ? reply.offset : reply))).toEqual(
    frames.map((frame, at) => (at + 1) * frame.length),
  );
  const onDisk = readFileSync(path.join(rig.dir, 'logs', '0', `${run}-1.log`));
  expect(onDisk.equals(Buffer.concat(frames))).toBe(true);
});

test('a log frame at a wrong offset writes nothing and brings the right one', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  await session.log(run, 1, 0, Buffer.from('abc'));
  expect(await session.log(run, 1, 5, Buffer.from('x'))).toEqual({ type: 'ok', offset: 3 });
  expect(await session.log(run, 1, 1, Buffer.from('x'))).toEqual({ type: 'ok', offset: 3 });
  expect(await session.log(run, 1, 0, Buffer.alloc(0))).toEqual({ type: 'ok', offset: 3 });
});

test('a record whose log is incomplete brings the offset and does not end the run', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  await session.log(run, 1, 0, Buffer.from('abc'));
  expect(await session.record(run, 1, outcome('passed'), 5)).toEqual({ type: 'ok', offset: 3 });
  expect((await rig.run(run)).state).toBe('running');
  await session.log(run, 1, 3, Buffer.from('de'));
  expect(await session.record(run, 1, outcome('passed'), 5)).toEqual({ type: 'ok' });
  expect((await rig.run(run)).state).toBe('passed');
});

test('a record brings the last of its log along, and both are there or neither', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  await session.heartbeat(run, 1);
  const log = async (): Promise<string> => (await rig.logs.read(run, 1, 0, 100_000)).toString();
  await session.log(run, 1, 0, Buffer.from('abc'));
  const ended = (length: number, offset: number, bytes: string) =>
    session.record(run, 1, outcome('passed'), length, { offset, bytes: Buffer.from(bytes) });
  expect(await ended(9, 6, 'xyz')).toEqual({ type: 'ok', offset: 3 });
  expect(await ended(9, 3, 'de')).toEqual({ type: 'ok', offset: 5 });
  expect([await log(), (await rig.run(run)).state]).toEqual(['abcde', 'running']);
  expect(await ended(7, 5, 'fg')).toEqual({ type: 'ok' });
  expect(await log()).toBe('abcdefg');
  expect(await rig.run(run)).toMatchObject({ state: 'passed', logLength: 7 });
  expect(await ended(7, 5, 'fg')).toEqual({ type: 'ok' }); // as when its reply was lost
  expect(await session.record(run, 1, outcome('failed'), 9, { offset: 7, bytes: Buffer.from('hi') })).toEqual(
    {
      type: 'stale',
      why: 'the run is passed',
    },
  );
  expect(await log()).toBe('abcdefg');
});

test('a record brings the last of a long log along as well', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  const most = Buffer.alloc(200_000, 'a');
  const rest = { offset: most.length, bytes: Buffer.alloc(9_000, 'b') };
  await session.log(run, 1, 0, most);
  expect(await session.record(run, 1, outcome('passed'), 209_000, rest)).toEqual({ type: 'ok' });
  const file = readFileSync(path.join(rig.dir, 'logs', '0', `${run}-1.log`));
  expect(file.equals(Buffer.concat([most, rest.bytes]))).toBe(true);
});

const ended = (run: number, logLength: number, rest: LogRest | null): RunRecord => ({
  run,
  attempt: 1,
  outcome: outcome('passed'),
  logLength,
  rest,
});

test.each([
  ['a small log', 5],
  ['a log in a file', 100_000],
])(
  'a record with %s and the next lease come in one breath, and what it frees is leased',
  async (_, length) => {
    const runs = [await rig.add({ serial: 'one' }), await rig.add({ serial: 'one' })];
    const [first = 0, second = 0] = runs;
    const session = await rig.connect();
    await session.lease(leaseRequest());
    await session.heartbeat(first, 1);
    await session.log(first, 1, 0, Buffer.alloc(length - 1, 'a'));
    const rest = { offset: length - 1, bytes: Buffer.from('b') };
    const both = session.recordAndLease(ended(first, length, rest), leaseRequest());
    expect(await both.recorded).toEqual({ type: 'ok' });
    expect(await both.leased).toMatchObject({ type: 'job', run: second, attempt: 1 });
    expect(await session.heartbeat(second, 1)).toEqual({ type: 'ok' });
    expect(await rig.run(first)).toMatchObject({ state: 'passed', logLength: length });
    const last = session.recordAndLease(ended(second, 0, null), leaseRequest());
    expect([await last.recorded, await last.leased]).toEqual([{ type: 'ok' }, { type: 'idle' }]);
  },
);

test('a job that a lease behind a record brings is accepted, and shown as what the session runs', async () => {
  const [first, second] = [await rig.add(), await rig.add()];
  const session = await rig.connect();
  await session.lease(leaseRequest());
  const both = session.recordAndLease(ended(first, 0, null), leaseRequest());
  expect(await both.recorded).toEqual({ type: 'ok' });
  expect(await both.leased).toMatchObject({ type: 'job', run: second, accepted: true });
  const { startedAt } = await rig.run(second);
  const run = { id: second, attempt: 1, repository: 'team/app', job: 'test', since: startedAt };
  expect(rig.server.sessions()).toMatchObject([{ run }]);
  expect(await session.record(second, 1, outcome('passed'), 0)).toEqual({ type: 'ok' });
  expect(rig.server.sessions()).toMatchObject([{ run: null }]);
});

test('an accepted job stays with its key when the connection goes; one whose record before it was not taken is given back', async () => {
  const [first, second, third] = [await rig.add(), await rig.add(), await rig.add()];
  const session = await rig.connect();
  await session.lease(leaseRequest());
  const request = leaseRequest();
  await session.recordAndLease(ended(first, 0, null), request).leased;
  // Its log is short: the connection has to end with the next job on its way.
  const both = session.recordAndLease(ended(second, 5, null), leaseRequest());
  expect(await both.recorded).toEqual({ type: 'ok', offset: 0 });
  expect(await both.leased).toMatchObject({ run: third, accepted: false });
  session.destroy();
  await until('it is queued again', async () => (await rig.run(third)).state === 'queued');
  expect(await rig.run(second)).toMatchObject({ state: 'running', attempt: 1 });
  const later = await rig.connect();
  expect(await later.lease(request)).toMatchObject({ run: second, attempt: 1, accepted: false });
  later.destroy();
  // On this session it was not accepted.
  await until('it is queued again', async () => (await rig.run(second)).state === 'queued');
});

test.each(['trusted', 'untrusted'] as const)(
  'a run that a lease behind its own stale record brings again is accepted as its new attempt (%s)',
  async (trust) => {
    const pipeline = { ...newPipeline([newRun()]), trust };
    const [run = 0] = (await rig.store.runs.createPipeline(pipeline)).runs;
    const session = await rig.connect();
    await session.lease(leaseRequest());
    await rig.store.runs.record('build1', run, 1, outcome('interrupted'), 0);
    const both = session.recordAndLease(ended(run, 0, null), leaseRequest());
    expect(await both.recorded).toMatchObject({ type: 'stale' });
    expect(await both.leased).toMatchObject({ type: 'job', run, attempt: 2, accepted: true });
    session.destroy();
    await until('the session is gone', () => rig.server.sessions().length === 0);
    const other = await rig.connect();
    expect(await other.lease(leaseRequest())).toEqual({ type: 'idle' });
    expect(await rig.run(run)).toMatchObject({ state: 'running', attempt: 2 });
  },
);

test('an attempt that was given back is not kept by one of the same run that was accepted before it', async () => {
  const [first, second] = [await rig.add(), await rig.add()];
  const session = await rig.connect();
  await session.lease(leaseRequest());
  await session.recordAndLease(ended(first, 0, null), leaseRequest()).leased;
  await rig.store.runs.record('build1', second, 1, outcome('interrupted'), 0);
  expect((await session.heartbeat(second, 1)).type).toBe('stale');
  expect(await session.lease(leaseRequest())).toMatchObject({ run: second, attempt: 2, accepted: false });
  session.destroy();
  await until('it is queued again', async () => (await rig.run(second)).state === 'queued');
});

test('a successor of a half-open session does not give back what that had accepted', async () => {
  const [first, second] = [await rig.add(), await rig.add()];
  const halfOpen = await rig.connect();
  await halfOpen.lease(leaseRequest());
  await halfOpen.recordAndLease(ended(first, 0, null), leaseRequest()).leased;
  const successor = await rig.connect();
  // Its log comes before its heartbeat.
  expect(await successor.log(second, 1, 0, Buffer.from('a'))).toEqual({ type: 'ok', offset: 1 });
  expect(await successor.heartbeat(second, 1)).toEqual({ type: 'ok' });
  expect(await rig.run(second)).toMatchObject({ state: 'running', attempt: 1 });
});

test('a lease behind a record that has to wait is not accepted, and given back with the connection', async () => {
  const first = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  const asked = performance.now();
  const both = session.recordAndLease(ended(first, 0, null), leaseRequest(30));
  await both.recorded;
  await until('longer than at once', () => performance.now() - asked > 300);
  const second = await rig.add();
  expect(await both.leased).toMatchObject({ type: 'job', run: second, accepted: false });
  session.destroy();
  await until('it is queued again', async () => (await rig.run(second)).state === 'queued');
});

test('another account brings nothing into a log with its record', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  const thief = await rig.connect({}, await rig.account('other'));
  const bytes = Buffer.from('mine');
  expect((await thief.record(run, 1, outcome('passed'), 4, { offset: 0, bytes })).type).toBe('stale');
  expect(await rig.logs.length(run, 1)).toBe(0);
});

test('a cancel comes with the replies to heartbeats and log frames', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  await rig.store.runs.cancel(run, 'by me');
  expect(await session.heartbeat(run, 1)).toEqual({ type: 'ok', cancel: 'by me' });
  expect(await session.log(run, 1, 0, Buffer.from('a'))).toEqual({ type: 'ok', offset: 1, cancel: 'by me' });
});

test('artifacts come in parts and are seen once their digest was checked', async () => {
  const run = await rig.add();
  const session = await rig.connect();
  await session.lease(leaseRequest());
  const bytes = Buffer.from('0123456789');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const part = { name: 'out.tar', offset: 0, bytes: bytes.subarray(0, 4), last: false, sha256: null };
  expect(await session.artifact(run, 1, part)).toEqual({ type: 'ok', offset: 4 });
  expect(await rig.artifacts.list(run, 1)).toEqual([]);
  const rest = { name: 'out.tar', offset: 4, bytes: bytes.subarray(4), last: true, sha256 };
  expect(await session.artifact(run, 1, rest)).toEqual({ type: 'ok', offset: 10 });
  expect(await rig.artifacts.list(run, 1)).toEqual([{ name: 'out.tar', bytes: 10 }]);
  // Its reply was lost: the same again.
  expect(await session.artifact(run, 1, rest)).toEqual({ type: 'ok', offset: 10 });
});

test('a lease waits until a run comes, and a session that goes withdraws it', async () => {
  const [first, second] = [await rig.connect({ slot: 0 }), await rig.connect({ slot: 1 })];
  const gone = first.lease(leaseRequest(30));
  await until('it waits', () => rig.waiting === 1);
  first.destroy();
  expect(await gone).toMatchObject({ type: 'disconnected', disconnect: { reason: 'closed' } });
  await until('it is withdrawn', () => rig.waiting === 0);
  const lease = second.lease(leaseRequest(30));
  await until('it waits', () => rig.waiting === 1);
  const run = await rig.add();
  expect(await lease).toMatchObject({ type: 'job', run });
});

test('a session that ends before it has accepted gives the run back at once', async () => {
  const run = await rig.add();
  const first = await rig.connect({ slot: 0 });
  expect(await first.lease(leaseRequest())).toMatchObject({ type: 'job', run, attempt: 1 });
  const waiting = (await rig.connect({ slot: 1 })).lease(leaseRequest(30));
  first.destroy();
  expect(await waiting).toMatchObject({ type: 'job', run, attempt: 2 });
});
