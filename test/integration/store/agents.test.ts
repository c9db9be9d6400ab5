import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentResult } from '../../../src/shared/agent/result.ts';
import type { RunOutcome } from '../../../src/shared/outcome.ts';
import { newRun, outcome, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let rig: StoreRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
  await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/nowhere', maxJobs: null });
});
afterEach(() => cleanup.run());

const SESSION = { engine: 'opencode', id: 's1', home: 'h1' };
const PLAN = { text: '1. Do it.', accepted: true };

function result(change: Partial<AgentResult> = {}): AgentResult {
  return { session: SESSION, report: 'Done.', plan: null, rounds: 1, change: null, ...change };
}

/** A command on issue 3 that ran and was recorded so; its id. */
async function ran(
  name: string,
  agent: AgentResult | null,
  change: Partial<RunOutcome> = {},
  issue = 3,
): Promise<number> {
  const command = { issue, comment: 1, author: 'alice', name };
  const [run = 0] = await rig.queue(
    'team/app',
    newRun({ key: name, kind: 'command', command, retryLost: false }),
  );
  const { attempt } = await rig.claimed();
  await rig.store.runs.record('build1', run, attempt, { ...outcome('passed'), agent, ...change }, 0);
  return run;
}

const sessionOf = (name: 'plan' | 'implement' | 'fix') => rig.store.agents.sessionOf('team/app', 3, name);
const planOf = (issue = 3) => rig.store.agents.planOf('team/app', issue);

describe('what an agent left', () => {
  it('is kept with the run and for its target, also over a restart', async () => {
    const run = await ran('plan', result({ plan: PLAN }));
    await rig.reopen();
    expect(await rig.store.agents.resultOf(run)).toEqual(result({ plan: PLAN }));
    expect(await planOf()).toBe('1. Do it.');
    expect(await sessionOf('plan')).toEqual(SESSION);
    expect(await sessionOf('implement')).toBeNull();
    expect(await planOf(4)).toBeNull();
  });

  it('is there only where the run has ended', async () => {
    const given = await ran('plan', result({ plan: PLAN }), { result: 'interrupted' });
    expect(await rig.state(given)).toBe('queued');
    expect(await rig.store.agents.resultOf(given)).toBeNull();
    expect(await planOf()).toBeNull();
    expect(await sessionOf('plan')).toBeNull();
  });

  it('is not taken from an attempt that is not the run’s', async () => {
    const [run = 0] = await rig.queue('team/app', newRun());
    const { attempt } = await rig.claimed();
    await rig.store.runs.record('other', run, attempt, { ...outcome('passed'), agent: result() }, 0);
    expect(await rig.store.agents.resultOf(run)).toBeNull();
  });

  it('of several is the latest plan that was accepted', async () => {
    await ran('plan', result({ plan: PLAN }));
    await ran('plan', result({ plan: { text: '2. Better.', accepted: true } }));
    await ran('plan', result({ plan: { text: '3. Worse.', accepted: false } }));
    await ran('plan', result(), { result: 'failed', reason: 'agent' });
    expect(await planOf()).toBe('2. Better.');
  });

  it('leaves the session as it was where it made none, whichever engine made it', async () => {
    const older = { engine: 'another', id: 'x', home: '' };
    await ran('implement', result({ session: older }));
    await ran('implement', result({ session: null }), { result: 'failed', reason: 'agent' });
    await ran('implement', null, { result: 'failed', reason: 'worker-died' });
    expect(await sessionOf('implement')).toEqual(older);
    await ran('implement', result());
    expect(await sessionOf('implement')).toEqual(SESSION);
  });

  it('of a fix is no session: each begins anew', async () => {
    await ran('fix', result());
    expect(await sessionOf('fix')).toBeNull();
  });

  it('goes with the repository, and where that is another on its forge', async () => {
    const forge = {
      repository: 'team/app',
      kind: 'gitea',
      project: 'team/app',
      apiUrl: 'http://forge/api/v1',
      tokenFile: '/token',
      botLogin: null,
    } as const;
    await rig.store.forges.set(forge, Buffer.from('x'));
    await ran('plan', result({ plan: PLAN }));
    await rig.store.forges.set({ ...forge, tokenFile: '/another' }, Buffer.from('x'));
    expect(await planOf()).toBe('1. Do it.');
    await rig.store.forges.set({ ...forge, project: 'team/moved' }, Buffer.from('x'));
    expect(await planOf()).toBeNull();
    expect(await sessionOf('plan')).toBeNull();
    await ran('plan', result({ plan: PLAN }));
    await rig.store.repositories.remove('team/app');
    expect(await planOf()).toBeNull();
    // of a run of a repository that is gone, nothing is kept for the next of this name
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/nowhere', maxJobs: null });
    expect(await planOf()).toBeNull();
  });
});

describe('a change that is pushed', () => {
  it('is known again after a restart, as it was going to be pushed and as it was told', async () => {
    const run = await ran('implement', result());
    expect(await rig.store.agents.changeOf(run, 1)).toBeNull();
    await rig.store.agents.keepChange(run, 1, { sha: 'a', rebased: false, published: null });
    await rig.reopen();
    expect(await rig.store.agents.changeOf(run, 1)).toEqual({ sha: 'a', rebased: false, published: null });
    const published = { state: 'failed', why: 'no' } as const;
    await rig.store.agents.keepChange(run, 1, { sha: 'b', rebased: true, published });
    await rig.reopen();
    expect(await rig.store.agents.changeOf(run, 1)).toEqual({ sha: 'b', rebased: true, published });
    expect(await rig.store.agents.changeOf(run, 2)).toBeNull();
  });
});
