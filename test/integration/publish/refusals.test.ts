import { afterEach, beforeEach, expect, it } from 'vitest';
import { newKeyPair } from '../../../src/runner/session/keys.ts';
import type { SessionConnection } from '../../../src/runner/session/session.ts';
import { AgentCommandRig, type LeasedAgent } from '../../support/agent-command-rig.ts';
import { newPipeline, newRun } from '../../support/store-rig.ts';

let rig: AgentCommandRig;
let session: SessionConnection;
let leased: LeasedAgent;
beforeEach(async () => {
  rig = await AgentCommandRig.start();
  session = await rig.connect();
  leased = await rig.command(session, '/agent implement', { issue: 3 });
});
afterEach(async () => {
  // whatever was asked, nothing was pushed
  expect(rig.git.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  expect(rig.events.forge.seen('POST', /\/pulls$/)).toEqual([]);
  await rig.close();
});

it("another account cannot have a run's change pushed", async () => {
  const { request, bundle } = rig.change(leased, { 'a.txt': 'two\n' });
  await rig.handIn(session, leased, bundle);
  const pair = newKeyPair();
  await rig.know('other', pair.publicKey);
  const other = await rig.connect({}, { account: 'other', privateKey: pair.privateKey });
  const { run, attempt } = leased;
  expect(await other.publish(run, attempt, request)).toMatchObject({ type: 'stale' });
  expect(await session.publish(run, attempt + 1, request)).toMatchObject({ type: 'stale' });
});

it('a change of two commits is refused', async () => {
  rig.git.work.commit({ x: '1' });
  const { request } = rig.change(leased, { 'a.txt': 'two\n' });
  rig.git.work.git('checkout', '-q', '--detach', request.commit);
  const commit = rig.git.work.commit({ 'a.txt': 'three\n' });
  await rig.handIn(session, leased, rig.bundle(`${request.parent}..HEAD`));
  expect(await rig.published(session, leased, { ...request, commit })).toEqual({
    state: 'failed',
    why: 'the change is not one commit on the commit that was checked out',
  });
});

it('a change on another commit than the one that was leased is refused', async () => {
  const parent = rig.git.work.commit({ x: '1' });
  const wrong = { spec: { ...leased.spec, source: { ...leased.spec.source, sha: parent } } } as LeasedAgent;
  const { request, bundle } = rig.change(wrong, { 'a.txt': 'two\n' });
  await rig.handIn(session, leased, bundle);
  expect(await rig.published(session, leased, request)).toEqual({
    state: 'failed',
    why: 'the change is not on the commit that was given to the run',
  });
});

it('a change whose request lies about its parent is refused', async () => {
  const parent = rig.git.work.commit({ x: '1' });
  const wrong = { spec: { ...leased.spec, source: { ...leased.spec.source, sha: parent } } } as LeasedAgent;
  const { request } = rig.change(wrong, { 'a.txt': 'two\n' });
  rig.git.work.git('checkout', '-q', '--detach', request.commit);
  // whole, so that the repository has all that it needs
  await rig.handIn(session, leased, rig.bundle('HEAD'));
  const lie = { ...request, parent: leased.spec.source?.sha ?? '' };
  expect(await rig.published(session, leased, lie)).toMatchObject({
    state: 'failed',
    why: 'the change is not one commit on the commit that was checked out',
  });
});

it('a bundle that builds on what the repository does not have is refused', async () => {
  rig.git.work.commit({ x: '1' });
  rig.git.work.commit({ x: '2' });
  const commit = rig.git.work.git('rev-parse', 'HEAD');
  await rig.handIn(session, leased, rig.bundle('HEAD~1..HEAD'));
  const request = { commit, parent: leased.spec.source?.sha ?? '', title: 't', body: '' };
  expect(await rig.published(session, leased, request)).toMatchObject({
    state: 'failed',
    why: expect.stringMatching(/^the change is no bundle of this repository: /),
  });
});

it('a commit that is not well-formed is refused', async () => {
  const { work } = rig.git;
  const parent = leased.spec.source?.sha ?? '';
  const tree = work.git('rev-parse', `${parent}^{tree}`);
  const odd = `tree ${tree}\nparent ${parent}\nauthor nobody\ncommitter nobody\n\nx\n`;
  const commit = work.hash(odd);
  work.git('update-ref', 'refs/heads/odd', commit);
  await rig.handIn(session, leased, rig.bundle(`${parent}..odd`));
  const request = { commit, parent, title: 't', body: '' };
  expect(await rig.published(session, leased, request)).toMatchObject({
    state: 'failed',
    why: expect.stringMatching(/^the change is not well-formed: /),
  });
});

it('a change that was not handed in is not waited for', async () => {
  const { request } = rig.change(leased, { 'a.txt': 'two\n' });
  expect(await rig.published(session, leased, request)).toEqual({
    state: 'failed',
    why: 'the change was not handed in',
  });
});

it('a run that is no agent has nothing to push', async () => {
  const sha = leased.spec.source?.sha ?? '';
  const plain = newRun();
  const source = { url: 'x', ref: 'refs/heads/main', sha, submodules: false };
  const run = newRun({ spec: { ...plain.spec, source } });
  await rig.store.runs.createPipeline(newPipeline([run], { sha }));
  const other = await rig.connect({ labels: [] });
  const job = await rig.lease(other);
  const { request, bundle } = rig.change(job, { 'a.txt': 'two\n' });
  await rig.handIn(other, job, bundle);
  expect(await rig.published(other, job, request)).toEqual({
    state: 'failed',
    why: 'the run is none that has a change to push',
  });
});
