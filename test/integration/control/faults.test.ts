import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlRig, SHA } from '../../support/control-rig.ts';
import type { Fault } from '../../support/forge/faults.ts';
import { BOT_TOKEN } from '../../support/forge/forge.ts';
import { newRun } from '../../support/store-rig.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await ControlRig.open();
  rig.project.issue(3);
  rig.forge.user(rig.project, 'alice', 'owner');
});
afterEach(() => rig.cleanup.run());

const FAULTS: readonly [string, Omit<Fault, 'on'>][] = [
  ['answers 500', { kind: 500 }],
  ['answers 500 and does it all the same', { kind: 500, after: true }],
  ['answers 403', { kind: 403 }],
  ['answers 429', { kind: 429, retryAfter: '7' }],
  ['answers 429 without saying how long', { kind: 429 }],
  ['answers nothing', { kind: 'hang' }],
  ['answers nothing and does it all the same', { kind: 'hang', after: true }],
  ['answers half a body', { kind: 'half' }],
  ['cuts the connection', { kind: 'drop' }],
];

/** A minute passes, each second when all that was due in it is done. */
async function minute(): Promise<void> {
  for (let second = 0; second < 60; second += 1) {
    await rig.quiet();
    rig.pass(1_000);
  }
  await rig.quiet();
}

describe('a forge that for a minute', () => {
  it.each(FAULTS)('%s is left with one comment and one status of the end', async (_, fault) => {
    await rig.start({ timeoutMs: fault.kind === 'hang' ? 100 : 10_000, maxBytes: 1024 * 1024 });
    const standing = rig.forge.fault({ on: () => true, ...fault });
    const run = await rig.command(3, 'alice');
    await rig.queue(newRun({ key: 'test' }));
    await minute();
    const asked = standing.hits;
    const errors = (await rig.store.tasks.list({ states: ['waiting'], limit: 10 })).map(({ error }) => error);
    standing.lift();
    await rig.passUntilIdle();
    await rig.finish(await rig.leased());
    await rig.finish(await rig.leased());
    await rig.passUntilIdle();

    expect((await rig.store.runs.get(run))?.state).toBe('passed');
    const comments = rig.project.commentsOf(3).map(({ body }) => body);
    expect(comments).toEqual([expect.stringContaining('**passed**')]);
    expect(rig.project.shown(SHA).map(({ context, state }) => `${context} ${state}`)).toEqual([
      'vole/test success',
    ]);
    const ends = rig.project.statuses.filter(({ state }) => state === 'success');
    expect(ends).toHaveLength(1);
    expect(await rig.dead()).toEqual([]);
    expect(rig.faults).toEqual([]);
    // Three tasks, each a few times: it backs off.
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThan(40);
    for (const error of errors) {
      expect(error).not.toContain(BOT_TOKEN);
      expect(error).toMatch(/^[^\n]{0,500}$/);
    }
  });

  it('asks to be left alone is left alone for as long, by all of its tasks', async () => {
    await rig.start();
    const limit = rig.forge.fault({ on: () => true, kind: 429, retryAfter: '50', times: 1 });
    await rig.queue(...['a', 'b', 'c', 'd', 'e', 'f'].map((key) => newRun({ key })));
    await rig.settle();
    const before = rig.forge.state.requests.length;
    expect(limit.hits).toBe(1);
    // Those that were on their way with the first had not heard of it; the other two did.
    expect(before).toBeLessThanOrEqual(4);
    for (let second = 0; second < 45; second += 1) {
      rig.pass(1_000);
      await rig.quiet();
    }
    expect(rig.forge.state.requests).toHaveLength(before);
    await rig.passUntilIdle();
    expect(rig.project.shown(SHA)).toHaveLength(6);
  });
});

describe('a command whose author the forge does not tell about', () => {
  it('says so when it is asked why it waits', async () => {
    const run = await rig.command(3, 'alice');
    const why = async () => (await rig.store.runs.why(run))?.reasons.map(({ text }) => text);
    expect(await why()).toEqual(['it waits to be authorised']);
    rig.forge.fault({ on: () => true, kind: 503 });
    await rig.start();
    await rig.settle();
    expect(await why()).toEqual([
      expect.stringMatching(
        /^it waits to be authorised, and the forge does not say whether its author may \(1 try\): GET .*503/,
      ),
    ]);
  });
});

describe('a forge that is never well again', () => {
  it('is given up after a bounded number of tries, and a command that it was to allow is refused', async () => {
    await rig.start();
    rig.forge.fault({ on: () => true, kind: 500 });
    const run = await rig.command(3, 'alice');
    await rig.passUntilIdle();
    expect(new Set((await rig.dead()).map((line) => line.split(':')[0]))).toEqual(
      new Set(['authorise', 'comment']),
    );
    expect(await rig.dead()).toHaveLength(2);
    expect(await rig.store.runs.get(run)).toMatchObject({
      state: 'refused',
      detail: expect.stringContaining('the forge did not say what its author may do: GET /repos/team/app'),
    });
    expect(rig.forge.seen('GET', /permission$/)).toHaveLength(20);
  });
});

describe('errors', () => {
  it('never hold the token, though the forge says it', async () => {
    await rig.start();
    rig.forge.fault({
      on: () => true,
      kind: 403,
      message: `bad token ${BOT_TOKEN}\nand more ${'x'.repeat(900)}`,
    });
    await rig.queue(newRun({ key: 'test' }));
    await rig.settle();
    const [task] = await rig.store.tasks.list({ states: ['waiting'], limit: 10 });
    expect(task?.error).toMatch(
      /^POST \/repos\/team\/app\/statuses\/a+: HTTP 403: bad token \*\*\*; and more x+$/,
    );
    expect(task?.error.length).toBeLessThanOrEqual(500);
  });
});
