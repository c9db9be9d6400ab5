import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlRig, SHA } from '../../support/control-rig.ts';
import { aClaim, newRun } from '../../support/store-rig.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await ControlRig.open();
  for (const issue of [3, 4]) rig.project.issue(issue);
  for (const user of ['alice', 'bob']) rig.forge.user(rig.project, user, 'write');
});
afterEach(() => rig.cleanup.run());

describe('a command whose authorisation hangs', () => {
  it('holds back the later ones of its issue, not other issues and not other work', async () => {
    await rig.start({ timeoutMs: 600_000, maxBytes: 1024 * 1024 });
    const hang = rig.forge.fault({ on: ({ path }) => path.includes('/alice/permission'), kind: 'hang' });
    const first = await rig.command(3, 'alice');
    await rig.forge.state.until('the authorisation to hang', () => hang.hits > 0);
    const second = await rig.command(3, 'bob');
    const other = await rig.command(4, 'bob');
    await rig.runIs(second, 'queued');
    await rig.runIs(other, 'queued');

    // #4's is leased; #3's second waits for its first.
    const leased = await rig.leased();
    expect(leased.run).toBe(other);
    expect(await rig.lease()).toBeNull();
    expect((await rig.store.runs.why(second))?.reasons[0]?.code).toBe('serial');

    // Control work for others goes on: #4's comment, statuses of other runs, an abort.
    await rig.queue(newRun({ key: 'test' }));
    rig.pass(200);
    const shown = () => rig.project.commentsOf(4)[0]?.body ?? '';
    await rig.forge.state.until("#4's comment", () => shown().includes('**running**'));
    await rig.forge.state.until('a status', () => rig.project.shown(SHA).length === 1);
    await rig.finish(leased);
    rig.pass(200);
    await rig.forge.state.until("#4's end", () => shown().includes('**passed**'));

    // Released: the connection is cut, and the next try is answered.
    hang.lift();
    await rig.passUntilIdle();
    expect((await rig.store.runs.get(first))?.state).toBe('queued');
    const order: number[] = [];
    for (let run = await rig.lease(); run !== null; run = await rig.lease()) {
      order.push(run.run);
      await rig.finish(run);
    }
    expect(order.filter((run) => run === first || run === second)).toEqual([first, second]);
    await rig.settle();
    expect(rig.project.commentsOf(3).map(({ body }) => body)).toEqual([
      expect.stringContaining('**passed**'),
      expect.stringContaining('**passed**'),
    ]);
  });

  it('holds back nothing but its kind in its repository, however many hang', async () => {
    const elsewhere = rig.forge.project('team/other');
    rig.forge.user(elsewhere, 'bob', 'write');
    elsewhere.issue(1);
    await rig.register(elsewhere);
    await rig.start({ timeoutMs: 600_000, maxBytes: 1024 * 1024 });
    const hang = rig.forge.fault({ on: ({ path }) => path.startsWith('/repos/team/app/'), kind: 'hang' });
    for (let issue = 100; issue < 140; issue += 1) await rig.command(issue, 'alice');
    await rig.forge.state.until('as many as may to hang', () => hang.hits >= 4);
    const run = await rig.command(1, 'bob', 'plan', 'team/other');
    await rig.runIs(run, 'queued');
    rig.pass(200);
    await rig.forge.state.until('its comment', () => elsewhere.commentsOf(1).length === 1);
    // Four authorisations, and since then four comments.
    expect(hang.hits).toBeLessThanOrEqual(8);
  });
});

describe('claims of commands', () => {
  it('never give one twice, nor two of one issue', async () => {
    await rig.start();
    for (const [issue, author] of [
      [3, 'alice'],
      [3, 'bob'],
      [4, 'alice'],
      [4, 'bob'],
    ] as const)
      await rig.command(issue, author);
    await rig.settle();
    const claim = () => rig.store.runs.claim(aClaim({ maxCommands: 32 }));
    const got = await Promise.all([claim(), claim(), claim()]);
    expect(got.map((run) => run?.run ?? null)).toEqual([1, 3, null]);
  });
});
