import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/server/secrets/secrets.ts';
import { AGENT_LABEL } from '../../../src/shared/agent/spec.ts';
import { runListSchema } from '../../../src/shared/api.ts';
import { AgentCommandRig } from '../../support/agent-command-rig.ts';
import { EventRig } from '../../support/event-rig.ts';
import { BOT } from '../../support/forge/forge.ts';
import { commentPayload } from '../../support/payloads.ts';
import { aClaim, outcome } from '../../support/store-rig.ts';
import { until } from '../../support/until.ts';

const OWN = 'commands: {fix: {steps: [{run: "echo own"}]}}\njobs: {a: {steps: [{run: "true"}]}}\n';

let rig: AgentCommandRig;
beforeEach(async () => {
  rig = await AgentCommandRig.start();
});
afterEach(() => rig.close());

describe('a command that the repository does not define', () => {
  it('is an agent run, told what stands on the issue, without what vole wrote there', async () => {
    const issue = rig.project.issue(3);
    issue.title = 'It is slow';
    issue.body = 'Make it fast.';
    rig.events.forge.comment(rig.project, 3, 'bob', 'I see it too');
    rig.events.forge.comment(rig.project, 3, BOT, '<!-- vole:run:9 -->\nan old one');
    const session = await rig.connect();
    const { spec, run } = await rig.command(session, '/agent plan think\nhard', { issue: 3 });
    const sha = rig.git.head('main');
    expect(spec).toMatchObject({
      job: 'plan',
      event: 'command',
      trust: 'trusted',
      steps: [],
      secrets: {},
      timeoutMs: 6 * 3_600_000,
      source: { url: rig.events.forge.cloneUrl(rig.project), ref: 'refs/heads/main', sha },
    });
    expect(spec.agent).toEqual({
      command: 'plan',
      message: 'think\nhard',
      author: 'alice',
      target: {
        number: 3,
        pull: false,
        title: 'It is slow',
        body: 'Make it fast.',
        comments: [{ author: 'bob', body: 'I see it too' }],
      },
      branch: null,
      plan: null,
      session: null,
      base: sha,
    });
    expect(await rig.store.runs.get(run)).toMatchObject({
      labels: [AGENT_LABEL],
      kind: 'command',
      serial: 'team/app#3',
      sha,
    });
  });

  it("gets none of the repository's secrets", async () => {
    const secrets = new Secrets(path.join(rig.events.dir, 'data'), rig.store);
    await secrets.set('team/app', 'DEPLOY_KEY', Buffer.from('very-secret-value'));
    const session = await rig.connect();
    const { spec } = await rig.command(session, '/agent plan', { issue: 3 });
    expect(spec.secrets).toEqual({});
  });

  it('beside one that it defines leaves that as it is', async () => {
    rig.git.push({ '.vole.yml': OWN });
    await rig.comment('/agent fix', { issue: 3 });
    const own = await rig.isIn(1, 'queued');
    expect(own.labels).toEqual([]);
    const plan = await rig.comment('/agent plan', { issue: 4 });
    expect((await rig.isIn(plan.id, 'queued')).labels).toEqual([AGENT_LABEL]);
  });

  it('fails where the workflow file has a fault', async () => {
    rig.git.push({ '.vole.yml': 'jobs:\n  a:\n    stepz: []\n' });
    const run = await rig.comment('/agent plan', { issue: 3 });
    expect((await rig.isIn(run.id, 'failed')).detail).toMatch(/^\.vole\.yml:\d+:\d+: /);
  });

  it('is for runners that have the label and speak a protocol with which they can hand a change in', async () => {
    const run = await rig.comment('/agent plan', { issue: 3 });
    await rig.isIn(run.id, 'queued');
    const none = { type: 'idle' };
    const request = { key: 'some-key-1', waitSeconds: 0, freeCpus: 4, freeMemoryBytes: 1e9 };
    expect(await (await rig.connect({ labels: [] })).lease(request)).toEqual(none);
    const old = await rig.connect({ protocol: 2 });
    expect(old.welcome.protocol).toBe(2);
    expect(await old.lease({ ...request, key: 'some-key-2' })).toEqual(none);
    expect(await rig.lease(await rig.connect())).toMatchObject({ run: run.id });
  });
});

describe('where an agent begins', () => {
  it('implement: at its own branch where that is there, with the fork point for a review of all of it', async () => {
    const fork = rig.git.head('main');
    const session = await rig.connect();
    const first = await rig.command(session, '/agent implement', { issue: 3 });
    expect(first.spec.agent).toMatchObject({ branch: 'agent/issue-3', base: fork });
    expect(first.spec.source).toMatchObject({ sha: fork, ref: 'refs/heads/main' });
    await rig.record(session, first);
    const tip = rig.git.push({ x: 'x' }, 'refs/heads/agent/issue-3');
    rig.git.work.git('reset', '-q', '--hard', fork ?? '');
    rig.git.push({ y: 'y' });
    const second = await rig.command(session, '/agent implement', { issue: 3 });
    expect(second.spec.agent).toMatchObject({ branch: 'agent/issue-3', base: fork });
    expect(second.spec.source).toMatchObject({ sha: tip, ref: 'refs/heads/agent/issue-3' });
  });

  it.each(['fix', 'implement'])('%s on a pull request: at the head of its branch', async (command) => {
    const fork = rig.git.head('main');
    const tip = rig.git.push({ x: 'x' }, 'refs/heads/topic');
    rig.project.issue(6, { sha: tip, ref: 'topic', repository: 'team/app' });
    rig.git.pull(6, 'topic');
    const session = await rig.connect();
    const leased = await rig.command(session, `/agent ${command} it`, { issue: 6, pull: true });
    expect(leased.spec.source).toMatchObject({ sha: tip, ref: 'refs/heads/topic' });
    expect(leased.spec.agent).toMatchObject({ branch: 'topic', base: fork, target: { pull: true } });
    expect(await rig.publish(session, leased, { z: 'z' })).toMatchObject({
      state: 'pushed',
      branch: 'topic',
      pull: { number: 6 },
    });
    expect(rig.events.forge.seen('POST', /\/pulls$/)).toEqual([]);
  });

  it('fix on an issue fails', async () => {
    const run = await rig.comment('/agent fix', { issue: 3 });
    expect((await rig.isIn(run.id, 'failed')).detail).toBe('fix is for pull requests, and #3 is an issue');
  });

  it.each([
    ['fix', /^the branch of #6 is in eve\/app, where vole does not push$/],
    ['implement', /^the branch of #6 is in eve\/app, where vole does not push$/],
    ['plan', /^#6 comes from elsewhere than the repository itself: /],
  ])('%s on a pull request of a fork fails', async (command, why) => {
    rig.git.work.git('checkout', '-q', '--detach');
    const theirs = rig.git.work.commit({ evil: 'x' });
    rig.git.work.git('push', '-q', rig.git.bare, 'HEAD:refs/pull/6/head');
    rig.project.issue(6, { sha: theirs, ref: 'topic', repository: 'eve/app' });
    const run = await rig.comment(`/agent ${command}`, { issue: 6, pull: true });
    expect((await rig.isIn(run.id, 'failed')).detail).toMatch(why);
  });

  it.each(['fix', 'implement'])('%s of the default branch fails: nobody has reviewed it', async (command) => {
    rig.project.issue(6, { sha: rig.git.head('main') ?? '', ref: 'main', repository: 'team/app' });
    rig.git.pull(6, 'main');
    const run = await rig.comment(`/agent ${command}`, { issue: 6, pull: true });
    const why = '#6 is of the default branch, main, to which agents do not push';
    expect((await rig.isIn(run.id, 'failed')).detail).toBe(why);
  });

  it('a pull request that was closed is not changed', async () => {
    const tip = rig.git.push({ x: 'x' }, 'refs/heads/topic');
    rig.project.issue(6, { sha: tip, ref: 'topic', repository: 'team/app' }).open = false;
    rig.git.pull(6, 'topic');
    const run = await rig.comment('/agent fix', { issue: 6, pull: true });
    expect((await rig.isIn(run.id, 'failed')).detail).toBe('the pull request #6 is not open');
  });
});

describe('commands of one issue', () => {
  it('are prepared in their turn, so that each has what those before it left', async () => {
    const session = await rig.connect();
    const plan = await rig.command(session, '/agent plan', { issue: 3 });
    const later = await rig.comment('/agent implement', { issue: 3 });
    await until('it to be authorised', async () => (await rig.store.runs.get(later.id))?.authorised);
    // what is prepared for another issue meanwhile changes nothing
    const other = await rig.comment('/agent plan', { issue: 4 });
    await rig.isIn(other.id, 'queued');
    expect((await rig.store.runs.get(later.id))?.state).toBe('received');
    await rig.store.runs.cancel(other.id, 'enough');
    expect((await rig.store.runs.why(later.id))?.reasons.map(({ code }) => code)).toContain('serial');
    const sha = rig.git.push({ 'new.txt': 'pushed while the plan was made\n' });
    const sessionRef = { engine: 'opencode', id: 's-1', home: 'h' };
    await rig.record(session, plan, {
      report: 'The plan.',
      plan: { text: '1. Do it.', accepted: true },
      session: sessionRef,
    });
    const implement = await rig.lease(session);
    expect(implement.run).toBe(later.id);
    expect(implement.spec.source?.sha).toBe(sha);
    // the session is that of a command of the same name
    expect(implement.spec.agent).toMatchObject({ plan: '1. Do it.', session: null });
    await rig.record(session, implement);
    const again = await rig.command(session, '/agent plan again', { issue: 3 });
    expect(again.spec.agent).toMatchObject({ plan: '1. Do it.', session: sessionRef });
  });

  it('do not wait for those of another issue', async () => {
    const session = await rig.connect();
    await rig.command(session, '/agent plan', { issue: 3 });
    const other = await rig.command(await rig.connect(), '/agent plan', { issue: 4 });
    expect(other.spec.agent?.target.number).toBe(4);
  });
});

describe('/agent abort', () => {
  it('cancels what waits for its turn, what is queued and what runs, and the comments say so', async () => {
    const session = await rig.connect();
    const running = await rig.command(session, '/agent plan', { issue: 3 });
    const waiting = await rig.comment('/agent implement', { issue: 3 });
    await rig.comment('/agent abort', { issue: 3 });
    await rig.isIn(waiting.id, 'cancelled');
    await rig.commentSays(running.run, /being cancelled/);
    const beat = await session.heartbeat(running.run, running.attempt);
    expect(beat).toMatchObject({ cancel: expect.stringContaining('aborted by alice') });
    const detail = 'aborted by alice';
    await rig.record(session, running, {}, { result: 'cancelled', reason: 'cancelled', detail });
    await rig.commentSays(running.run, /\*\*cancelled\*\*[^]*aborted by alice/);
    await rig.commentSays(waiting.id, /\*\*cancelled\*\*[^]*aborted by alice/);

    const queued = await rig.comment('/agent plan', { issue: 4 });
    await rig.isIn(queued.id, 'queued');
    await rig.comment('/agent abort', { issue: 4 });
    await rig.isIn(queued.id, 'cancelled');
    await rig.commentSays(queued.id, /\*\*cancelled\*\*/);
  });
});

describe('a forge that does not say what the issue is', () => {
  it('is asked again', async () => {
    const fault = rig.events.forge.fault({
      on: ({ method, path }) => method === 'GET' && path.endsWith('/issues/3'),
      kind: 500,
      times: 1,
    });
    const run = await rig.comment('/agent plan', { issue: 3 });
    await rig.isIn(run.id, 'queued');
    expect(fault.hits).toBe(1);
  });

  it('and has it no more makes the command fail', async () => {
    const run = await rig.comment('/agent plan', { issue: 77 });
    expect((await rig.isIn(run.id, 'failed')).detail).toBe('the forge has no issue 77 any more');
  });
});

it("an agent's report is on the run's page and in the API, without the repository's secrets", async () => {
  const secrets = new Secrets(path.join(rig.events.dir, 'data'), rig.store);
  await secrets.set('team/app', 'DEPLOY_KEY', Buffer.from('very-secret-value'));
  const session = await rig.connect();
  const leased = await rig.command(session, '/agent implement', { issue: 3 });
  const { url } = rig.events.server.http;
  const runOf = async () => (await fetch(`${url}/api/runs/${leased.run}`)).json();
  expect(await runOf()).toMatchObject({ agent: null });
  const change = {
    commit: 'c'.repeat(40),
    branch: 'agent/issue-3',
    pull: { number: 5, url: 'https://forge.example/pulls/5' },
    rebased: false,
  };
  const report = 'Done with very-secret-value <script>alert(1)</script> @bob';
  await rig.record(session, leased, { report, rounds: 2, change });
  const shown = 'Done with *** <script>alert(1)</script> @bob';
  const agent = { report: shown, rounds: 2, planAccepted: null, change };
  expect(await runOf()).toMatchObject({ agent });
  const list = runListSchema.parse(await (await fetch(`${url}/api/runs`)).json());
  expect(list.runs[0]?.agent).toEqual(agent);
  const page = await (await fetch(`${url}/runs/${leased.run}`)).text();
  expect(page).toContain('Done with *** &lt;script&gt;alert(1)&lt;/script&gt; @bob');
  expect(page).toContain('href="https://forge.example/pulls/5"');
  expect(page).not.toContain('very-secret');
});

it('a runner of the version before is given jobs as ever', async () => {
  rig.git.push({ '.vole.yml': OWN });
  await rig.comment('/agent fix', { issue: 3 });
  const old = await rig.connect({ protocol: 2 });
  const leased = await rig.lease(old);
  expect(leased.spec).toMatchObject({ job: 'fix', agent: null });
  const { run, attempt } = leased;
  expect(await old.record(run, attempt, outcome('passed'), 0)).toEqual({ type: 'ok' });
  await rig.isIn(run, 'passed');
});

it('a runner that is lost in mid-turn ends the run, and its comment says so, and what was pushed before', async () => {
  const session = await rig.connect();
  const leased = await rig.command(session, '/agent implement', { issue: 3 });
  const lost = { result: 'lost', reason: 'lost', detail: 'the runner ended without a report' } as const;
  const { run, attempt } = leased;
  await rig.publish(session, leased, { 'a.txt': 'two\n' });
  await session.record(run, attempt, { ...lost, steps: [], durationMs: 0 }, 0);
  await rig.isIn(run, 'lost');
  const said = await rig.commentSays(run, /\*\*lost\*\*[^]*the runner ended without a report/);
  expect(said).toMatch(/\n\nIts change was pushed to `agent\/issue-3`, pull request #5\.$/);
});

it('without agents such a command fails as ever', async () => {
  const plain = await EventRig.start();
  try {
    plain.source.commit({ '.vole.yml': OWN });
    await plain.deliver('issue_comment', commentPayload({ comment: 1, body: '/agent plan' }));
    await until('it to have failed', async () => (await plain.runs())[0]?.state === 'failed');
    expect((await plain.runs())[0]?.detail).toMatch(/has no command `plan`; it has fix$/);
    expect(await plain.server.store.runs.claim(aClaim({ labels: [AGENT_LABEL] }))).toBeNull();
  } finally {
    await plain.close();
  }
});
