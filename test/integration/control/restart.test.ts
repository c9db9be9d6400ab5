import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlRig, SHA } from '../../support/control-rig.ts';
import { newRun } from '../../support/store-rig.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await ControlRig.open();
  rig.project.issue(3);
  rig.forge.user(rig.project, 'alice', 'admin');
});
afterEach(() => rig.cleanup.run());

describe('a server that is closed with requests on their way', () => {
  it.each([false, true])('goes on with them at its next start; done there: %s', async (after) => {
    await rig.start({ timeoutMs: 600_000, maxBytes: 1024 * 1024 });
    const hang = rig.forge.fault({ on: ({ method }) => method === 'POST', kind: 'hang', after });
    await rig.command(3, 'alice');
    await rig.queue(newRun({ key: 'test' }));
    rig.pass(200);
    await rig.forge.state.until('both to hang', () => hang.hits === 2);
    const stopped = rig.stop();
    hang.lift();
    await stopped;
    // Closing was no failure of theirs: they wait for nothing.
    const now = rig.clock.now();
    const left = await rig.store.tasks.list({ states: ['waiting'], limit: 10 });
    expect(left.filter(({ kind }) => kind !== 'authorise')).toMatchObject([
      { attempts: 0, dueAt: now },
      { attempts: 0, dueAt: now },
    ]);
    await rig.restart();
    await rig.passUntilIdle();
    expect(rig.project.commentsOf(3)).toHaveLength(1);
    expect(rig.project.statuses.filter(({ sha }) => sha === SHA)).toHaveLength(1);
    expect(await rig.store.tasks.list({ states: ['waiting', 'claimed', 'dead'], limit: 10 })).toEqual([]);
  });
});
