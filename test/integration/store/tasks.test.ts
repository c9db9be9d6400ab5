import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Task, TaskRequest } from '../../../src/server/store/control.ts';
import { newPipeline, newRun, outcome, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let rig: StoreRig;
const SHA = 'a'.repeat(40);

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
  await register('team/app');
});
afterEach(() => cleanup.run());

async function register(name: string): Promise<void> {
  await rig.store.repositories.add({ name, cloneUrl: '/x', maxJobs: null });
  const forge = {
    repository: name,
    kind: 'gitea',
    project: name,
    apiUrl: 'http://x',
    tokenFile: '/t',
  } as const;
  await rig.store.forges.set({ ...forge, botLogin: null }, Buffer.from('sealed'));
}

function reply(subject: string, repository = 'team/app', text = 'hello'): TaskRequest {
  return { kind: 'reply', repository, subject, payload: { issue: 3, text } };
}

async function claimed(perLane = 4): Promise<Task> {
  const task = await rig.store.tasks.claim(perLane);
  if (task === null) throw new Error('no task');
  return task;
}

const open = () => rig.store.tasks.list({ states: ['waiting', 'claimed'], limit: 1000 });
const states = async () =>
  (await rig.store.tasks.list({ states: ['waiting', 'claimed', 'done', 'dead'], limit: 1000 })).map(
    ({ kind, state }) => `${kind} ${state}`,
  );

describe('a task', () => {
  it('is one for its subject, and waits again where it was asked for while it was claimed', async () => {
    const { tasks } = rig.store;
    await tasks.request(reply('7'));
    await tasks.request(reply('7', 'team/app', 'changed'));
    const task = await claimed();
    expect(task).toMatchObject({ kind: 'reply', payload: { text: 'changed' }, wanted: 2 });
    expect(await tasks.claim(4)).toBeNull();
    await tasks.request(reply('7', 'team/app', 'changed again'));
    await tasks.finish(task, { type: 'done', memory: { id: 1 } });
    const second = await claimed();
    expect(second).toMatchObject({ payload: { text: 'changed again' }, memory: { id: 1 }, unsure: false });
    await tasks.finish(second, { type: 'done', memory: { id: 1 } });
    // The very same again is nothing new.
    await tasks.request(reply('7', 'team/app', 'changed again'));
    expect(await states()).toEqual(['reply done']);
  });

  it('is claimed once however many claim at once, and no more of a lane than it may have', async () => {
    await register('team/other');
    for (let at = 0; at < 5; at += 1) await rig.store.tasks.request(reply(String(at)));
    await rig.store.tasks.request(reply('0', 'team/other'));
    const claims = await Promise.all([1, 2, 3, 4, 5].map(() => rig.store.tasks.claim(2)));
    const got = claims.flatMap((task) => (task === null ? [] : [`${task.repository} ${task.subject}`]));
    expect(got).toEqual(['team/app 0', 'team/app 1', 'team/other 0']);
    // With both lanes of one each, the third claim is empty.
    await rig.store.tasks.recover();
    const ones = await Promise.all([1, 2, 3].map(() => rig.store.tasks.claim(1)));
    expect(ones.map((task) => task?.repository ?? null)).toEqual(['team/app', 'team/other', null]);
  });

  it('waits its time after it failed, is given up at last, and has a new life when it is retried', async () => {
    const { tasks } = rig.store;
    await tasks.request(reply('7'));
    await tasks.finish(await claimed(), { type: 'again', why: 'HTTP 500', inMs: 1_000, counts: true });
    expect(await tasks.claim(4)).toBeNull();
    expect(await tasks.nextDue()).toBe(rig.clock.now() + 1_000);
    rig.clock.pass(1_000);
    const second = await claimed();
    expect(second).toMatchObject({ attempts: 1, unsure: true });
    await tasks.finish(second, { type: 'dead', why: 'HTTP 423' });
    expect(await tasks.list({ states: ['dead'], limit: 10 })).toMatchObject([
      { id: second.id, attempts: 2, error: 'HTTP 423' },
    ]);
    expect(await tasks.retry(second.id + 1)).toBe(0);
    expect(await tasks.retry(second.id)).toBe(1);
    expect(await claimed()).toMatchObject({ attempts: 0, unsure: true });
  });

  it('does not wait for hours because the clock was set back', async () => {
    const { tasks } = rig.store;
    await tasks.request(reply('7'));
    await tasks.finish(await claimed(), { type: 'again', why: 'x', inMs: 60_000, counts: true });
    rig.clock.wall -= 10 * 3_600_000;
    expect(await claimed()).toMatchObject({ subject: '7' });
  });

  it('that a dead process had claimed waits again, its effect unknown', async () => {
    await rig.store.tasks.request(reply('7'));
    await claimed();
    await rig.reopen();
    expect(await rig.store.tasks.claim(4)).toBeNull();
    expect(await rig.store.tasks.recover()).toBe(1);
    expect(await claimed()).toMatchObject({ subject: '7', unsure: true, attempts: 0 });
  });

  it('goes with its repository, and is none where there is no forge', async () => {
    await rig.store.tasks.request(reply('7'));
    const task = await claimed();
    await rig.store.tasks.request(reply('8'));
    await rig.store.repositories.remove('team/app');
    expect(await states()).toEqual([]);
    await rig.store.tasks.finish(task, { type: 'done', memory: null });
    await rig.store.repositories.add({ name: 'team/plain', cloneUrl: '/x', maxJobs: null });
    await rig.store.tasks.request(reply('9', 'team/plain'));
    expect(await states()).toEqual([]);
  });

  it('of a lane is found however many wait in others', async () => {
    await register('team/other');
    await Promise.all(Array.from({ length: 3_000 }, (_, at) => rig.store.tasks.request(reply(String(at)))));
    rig.clock.pass(10);
    await rig.store.tasks.request(reply('0', 'team/other'));
    const first = await Promise.all([1, 2].map(() => rig.store.tasks.claim(1)));
    expect(first.map((task) => task?.repository)).toEqual(['team/app', 'team/other']);
  });
});

describe('what causes tasks', () => {
  const command = { issue: 3, comment: 30, author: 'alice', name: 'plan' };
  const aCommand = () => newRun({ key: 'plan', kind: 'command', state: 'received', command });

  it('is every change of a run: its status, or a command’s authorisation and comment', async () => {
    await rig.queue('team/app', newRun({ key: 'test' }), aCommand());
    expect((await open()).map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
      'comment 2',
      'authorise 2',
      `status ${SHA} test`,
    ]);
  });

  it('is a workflow file with a fault', async () => {
    const pipeline = newPipeline([], { fault: '.vole.yml:3:5: no such key' });
    await rig.store.runs.createPipeline(pipeline);
    expect(await open()).toMatchObject([{ kind: 'status', subject: SHA, state: 'waiting' }]);
  });

  it('is there with its tasks or not at all', async () => {
    const broken = newPipeline([newRun({ key: 'a' }), { ...newRun({ key: 'b' }), cpus: Number.NaN }]);
    await expect(rig.store.runs.createPipeline(broken)).rejects.toThrow();
    expect(await open()).toEqual([]);
    expect(await rig.store.runs.list({ limit: 10 })).toEqual([]);
  });

  it('makes one task of changes that follow one another', async () => {
    await rig.queue('team/app', newRun({ key: 'test' }));
    const run = await rig.claimed();
    await rig.store.runs.heartbeat('build1', run.run, run.attempt, 60_000);
    await rig.store.runs.record('build1', run.run, run.attempt, outcome('passed'), 0);
    expect(await open()).toMatchObject([{ kind: 'status', state: 'waiting' }]);
    expect(await rig.store.tasks.claim(4)).toBeNull();
    rig.clock.pass(200);
    // Queued, running, passed; a heartbeat is none.
    expect(await claimed()).toMatchObject({ wanted: 3, payload: { state: 'passed' } });
  });

  it('leaves a task that backs off where it is, and gives a dead one a new life', async () => {
    await rig.queue('team/app', newRun({ key: 'test' }));
    rig.clock.pass(200);
    await rig.store.tasks.finish(await claimed(), { type: 'again', why: 'x', inMs: 60_000, counts: true });
    const run = await rig.claimed();
    rig.clock.pass(59_000);
    expect(await rig.store.tasks.claim(4)).toBeNull();
    rig.clock.pass(1_000);
    await rig.store.tasks.finish(await claimed(), { type: 'dead', why: 'y' });
    await rig.store.runs.record('build1', run.run, run.attempt, outcome('passed'), 0);
    rig.clock.pass(200);
    expect(await claimed()).toMatchObject({ attempts: 0, unsure: true, payload: { state: 'passed' } });
  });

  it('is the deletion of one of our comments, and of no other', async () => {
    const { tasks } = rig.store;
    await rig.queue('team/app', aCommand());
    rig.clock.pass(200);
    for (let task = await tasks.claim(4); task !== null; task = await tasks.claim(4))
      await tasks.finish(task, { type: 'done', memory: { id: 5 } });
    expect(await tasks.commentDeleted('team/app', 'just a comment')).toBe(false);
    expect(await tasks.commentDeleted('team/app', '<!-- vole:run:99 -->')).toBe(false);
    expect(await tasks.commentDeleted('team/other', '<!-- vole:run:1 -->')).toBe(false);
    expect(await tasks.commentDeleted('team/app', '<!-- vole:run:1 -->\nqueued')).toBe(true);
    const again = await claimed();
    expect(again).toMatchObject({ kind: 'comment', unsure: true, memory: { id: 5 } });
    // Once more while it is looked after: it looks again.
    expect(await tasks.commentDeleted('team/app', '<!-- vole:run:1 -->')).toBe(true);
    await tasks.finish(again, { type: 'done', memory: { id: 6 } });
    expect(await claimed()).toMatchObject({ kind: 'comment', unsure: true, memory: { id: 6 } });
  });
});
