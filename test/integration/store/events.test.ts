import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HookEvent } from '../../../src/server/events/event.ts';
import type { NewEvent } from '../../../src/server/store/event-store.ts';
import { newPipeline, newRun, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let rig: StoreRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
});
afterEach(() => cleanup.run());

const PUSH: HookEvent = { kind: 'push', ref: 'refs/heads/main', before: null, after: 'a'.repeat(40) };

function plan(comment: number): HookEvent {
  return { kind: 'command', issue: 3, pull: false, comment, author: 'alice', name: 'plan', message: '' };
}

function delivery(id: string, event: HookEvent, change: Partial<NewEvent> = {}): NewEvent {
  const digest = createHash('sha256')
    .update(JSON.stringify([event, id]))
    .digest();
  return { repository: 'team/app', forge: 'gitea', delivery: id, digest, event, ...change };
}

describe('events', () => {
  it('are numbered in the order received, whatever the clock says', async () => {
    const { events } = rig.store;
    for (const [at, ms] of [0, -3_600_000, 7_200_000, -3_600_000].entries()) {
      rig.clock.pass(ms);
      expect(await events.receive(delivery(`d${at}`, plan(at + 1)))).toEqual({
        event: at + 1,
        repeated: false,
      });
    }
    await rig.reopen();
    expect((await rig.store.events.pending('comments', 10)).map(({ delivery }) => delivery)).toEqual([
      'd0',
      'd1',
      'd2',
      'd3',
    ]);
  });

  it.each<[string, NewEvent]>([
    ['id', delivery('first', PUSH)],
    ['body', delivery('other', PUSH, { digest: delivery('first', plan(5)).digest })],
    ['comment', delivery('other', plan(5))],
    [
      'comment, though it now aborts',
      delivery('other', { kind: 'abort', issue: 9, pull: true, comment: 5, author: 'b' }),
    ],
  ])('are repeats by their %s, which takes no number', async (_, again) => {
    const { events } = rig.store;
    await events.receive(delivery('first', plan(5)));
    expect(await events.receive(again)).toEqual({ event: 1, repeated: true });
    expect(await events.receive(delivery('next', plan(6)))).toEqual({ event: 2, repeated: false });
  });

  it('of other repositories are no repeats', async () => {
    const { events } = rig.store;
    const first = delivery('first', plan(5));
    await events.receive(first);
    expect(await events.receive({ ...first, repository: 'team/other' })).toEqual({
      event: 2,
      repeated: false,
    });
  });

  it('received at once are one commit, and of the same one is new', async () => {
    const { events } = rig.store;
    const same = Array.from({ length: 20 }, (_, at) => delivery(`d${at}`, plan(5)));
    const replies = await Promise.all(same.map((one) => events.receive(one)));
    expect(replies.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(new Set(replies.map(({ event }) => event))).toEqual(new Set([1]));
  });

  it('are settled once, with what they cause', async () => {
    const { events } = rig.store;
    await events.receive(delivery('first', PUSH));
    const result = { result: 'a pipeline', pipeline: newPipeline([newRun()]) };
    const settled = await Promise.all([events.settle(1, result), events.settle(1, result)]);
    expect(settled).toEqual([{ pipeline: 1, runs: [1] }, null]);
    await rig.reopen();
    expect(await rig.store.events.settle(1, result)).toBeNull();
    expect(await rig.store.runs.list({ limit: 10 })).toHaveLength(1);
    expect(await rig.store.events.ofPipeline(1)).toMatchObject({
      id: 1,
      pending: false,
      result: 'a pipeline',
    });
  });

  it('whose pipeline cannot be stored stay pending', async () => {
    const { events } = rig.store;
    await events.receive(delivery('first', PUSH));
    const broken = newPipeline([newRun({ needs: ['nothing'] })]);
    await expect(events.settle(1, { result: 'a pipeline', pipeline: broken })).rejects.toThrow(
      /needs nothing/,
    );
    expect(await events.pending('changes', 10)).toHaveLength(1);
  });

  it('wait by lane and repository', async () => {
    const { events } = rig.store;
    await events.receive(delivery('a', PUSH));
    await events.receive(delivery('b', plan(1), { repository: 'team/other' }));
    expect(await events.repositoriesPending('changes')).toEqual(['team/app']);
    expect(await events.repositoriesPending('comments')).toEqual(['team/other']);
    expect(await events.pending('comments', 10, 'team/app')).toEqual([]);
    expect((await events.list({ limit: 10, repository: 'team/other' })).map(({ id }) => id)).toEqual([2]);
    await events.settle(1, { result: 'nothing' });
    expect((await events.list({ limit: 10, pendingOnly: true })).map(({ id }) => id)).toEqual([2]);
    expect((await events.list({ limit: 10, before: 2 })).map(({ id }) => id)).toEqual([1]);
  });
});
