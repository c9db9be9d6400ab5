import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventRig } from '../../support/event-rig.ts';
import { BOT } from '../../support/forge/forge.ts';
import type { Project } from '../../support/forge/state.ts';
import { type CommentFacts, commentPayload } from '../../support/payloads.ts';
import { aClaim, outcome } from '../../support/store-rig.ts';
import { until } from '../../support/until.ts';

const WORKFLOW = `jobs: {test: {steps: [{run: "true"}]}}
commands:
  plan: {labels: [agents], cpus: 2, timeout-minutes: 5, env: {A: b}, steps: [{run: "echo plan"}]}
  implement: {steps: [{run: "echo implement"}]}
  fix: {steps: [{run: "echo fix"}]}
`;

let rig: EventRig;
let sha: string;
beforeEach(async () => {
  rig = await EventRig.start();
  sha = rig.source.commit({ '.vole.yml': WORKFLOW });
});
afterEach(() => rig.close());

let comments = 1000;

/** Delivers a new comment and waits until it was worked on. */
async function comment(body: string, facts: Partial<CommentFacts> = {}): Promise<string> {
  const reply = await rig.deliver('issue_comment', commentPayload({ comment: ++comments, body, ...facts }));
  await rig.settled();
  return reply.text;
}

async function isIn(run: number, state: string): Promise<void> {
  await until(`run ${run} is ${state}`, async () => (await rig.server.store.runs.get(run))?.state === state);
}

describe('a comment that asks for a command', () => {
  it('is a received run that waits for its authorisation, and nothing is read for it before', async () => {
    await rig.server.store.repositories.set('team/app', { cloneUrl: '/not/there' });
    expect(await comment('/agent plan make it fast\nplease', { author: 'carol' })).toBe('event 1');
    expect(await rig.runs()).toMatchObject([
      { job: 'plan', kind: 'command', state: 'received', serial: 'team/app#3', authorised: false },
    ]);
    expect(await rig.server.store.runs.claim(aClaim({ labels: ['agents'] }))).toBeNull();
    expect((await rig.server.store.runs.why(1))?.reasons).toMatchObject([{ code: 'received' }]);
    expect(rig.said.filter((line) => line.includes('tried again'))).toEqual([]);
    const tasks = await rig.server.store.tasks.list({ states: ['waiting', 'claimed'], limit: 10 });
    expect(tasks.map(({ kind, subject }) => `${kind} ${subject}`).sort()).toEqual([
      'authorise 1',
      'comment 1',
    ]);
  });

  it('delivered ten times at once, and again under new ids, is one event, one run, one number', async () => {
    const payload = commentPayload({ comment: 11, body: '/agent plan' });
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => rig.deliver('issue_comment', payload, { id: 'the-same' })),
    );
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      ...Array.from({ length: 9 }, () => 200),
      202,
    ]);
    const again = { ...payload, sender: { login: 'alice', seen: 'later' } };
    for (const body of [payload, again])
      expect((await rig.deliver('issue_comment', body, { id: randomUUID() })).text).toBe(
        'received before, as event 1',
      );
    await rig.settled();
    expect(await rig.events()).toHaveLength(1);
    expect(await rig.runs()).toHaveLength(1);
    await comment('/agent fix');
    expect((await rig.events()).map(({ id }) => id)).toEqual([1, 2]);
    expect((await rig.runs()).map(({ id }) => id)).toEqual([1, 2]);
  });

  it('is the job of that name once it is authorised, at the head of the default branch', async () => {
    await comment('/agent plan make it fast\nplease');
    await isIn(1, 'queued');
    expect(await rig.server.store.runs.claim(aClaim())).toBeNull();
    const claimed = await rig.server.store.runs.claim(aClaim({ labels: ['agents'] }));
    expect(claimed).toMatchObject({
      run: 1,
      trust: 'trusted',
      spec: {
        job: 'plan',
        event: 'command',
        source: { url: rig.source.dir, ref: 'refs/heads/main', sha },
        env: {
          A: 'b',
          VOLE_COMMAND: 'plan',
          VOLE_COMMAND_MESSAGE: 'make it fast\nplease',
          VOLE_COMMAND_AUTHOR: 'alice',
          VOLE_ISSUE: '3',
          VOLE_ISSUE_IS_PULL: 'false',
        },
        timeoutMs: 300_000,
      },
    });
    expect(await rig.server.store.runs.get(1)).toMatchObject({ sha, cpus: 2, labels: ['agents'] });
  });

  it('on a pull request is of its head, and of a fork it is untrusted', async () => {
    rig.source.git('checkout', '-q', '--detach');
    const theirs = rig.source.commit({ evil: 'x' });
    rig.source.git('update-ref', 'refs/pull/4/head', theirs);
    rig.source.git('checkout', '-q', 'main');
    await comment('/agent fix', { issue: 4, pull: true });
    await isIn(1, 'queued');
    expect(await rig.pipelines()).toMatchObject([
      { ref: 'refs/pull/4/head', sha: theirs, trust: 'untrusted', event: 'command' },
    ]);
    expect(await rig.server.store.runs.claim(aClaim())).toMatchObject({ trust: 'untrusted' });
  });

  it('that is not allowed ends as refused', async () => {
    await comment('/agent fix', { author: 'bob' });
    await isIn(1, 'refused');
    expect((await rig.runs())[0]).toMatchObject({
      reason: 'not-allowed',
      detail: expect.stringContaining('bob has read permission'),
    });
    expect(await rig.server.store.runs.authorise(1, true, '')).toBe(false);
  });

  it.each([
    [
      'jobs: {a: {steps: [{run: x}]}}\ncommands: {fix: {steps: [{run: x}]}}\n',
      /has no command `plan`; it has fix$/,
    ],
    ['jobs:\n  a:\n    stepz: []\n', /^\.vole\.yml:\d+:\d+: /],
    [null, /^there is no \.vole\.yml at [0-9a-f]{12}$/],
  ])('that cannot be prepared fails with a line that says why', async (workflow, why) => {
    if (workflow === null) rig.source.git('rm', '-q', '.vole.yml');
    rig.source.commit(workflow === null ? {} : { '.vole.yml': workflow });
    await comment('/agent plan');
    await isIn(1, 'failed');
    const [run] = await rig.runs();
    expect(run?.detail).toMatch(why);
    expect(run).toMatchObject({ reason: 'workflow' });
  });

  it('on a pull request that is not there fails', async () => {
    await comment('/agent plan', { issue: 99, pull: true });
    await isIn(1, 'failed');
    expect((await rig.runs())[0]?.detail).toBe('refs/pull/99/head has no commit');
  });
});

describe('commands', () => {
  it('of one issue go one at a time in the order received; one that waits for its authorisation holds back no other issue', async () => {
    await comment('/agent plan', { issue: 3, author: 'carol' });
    await comment('/agent fix', { issue: 3, author: 'dave' });
    await comment('/agent fix', { issue: 4 });
    await isIn(3, 'queued');
    await isIn(2, 'refused'); // control work of the first hangs, that of others goes on
    await comment('/agent fix', { issue: 3 });
    const { runs } = rig.server.store;
    const claims = () => runs.claim(aClaim({ labels: ['agents'], maxCommands: 32 }));
    expect((await claims())?.run).toBe(3);
    await isIn(4, 'queued');
    expect(await claims()).toBeNull();
    expect((await runs.why(4))?.reasons).toMatchObject([
      { code: 'serial', text: 'run 1 of the serial key team/app#3 comes first and is received' },
    ]);
    rig.forge.user(rig.forge.state.projects.get('team/app') as Project, 'carol', 'owner');
    rig.silence.lift();
    await isIn(1, 'queued');
    expect((await claims())?.run).toBe(1);
    expect(await claims()).toBeNull();
    await runs.record('build1', 1, 1, outcome('passed'), 0);
    expect((await claims())?.run).toBe(4);
  });

  it('are leased to one runner each; with two eligible issues the third claim is empty', async () => {
    for (const issue of [3, 3, 4, 4]) await comment('/agent fix', { issue });
    for (const { id } of await rig.runs()) await isIn(id, 'queued');
    const { runs } = rig.server.store;
    const claimed = await Promise.all([1, 2, 3].map(() => runs.claim(aClaim({ maxCommands: 32 }))));
    expect(claimed.map((run) => run?.run ?? null)).toEqual([1, 3, null]);
  });

  it('run as many at once as allowed, over all repositories', async () => {
    for (const issue of [1, 2, 3]) await comment('/agent fix', { issue });
    for (const { id } of await rig.runs()) await isIn(id, 'queued');
    const { runs } = rig.server.store;
    const claimed = await Promise.all([1, 2, 3].map(() => runs.claim(aClaim({ maxCommands: 2 }))));
    expect(claimed.map((run) => run?.run ?? null)).toEqual([1, 2, null]);
    expect((await runs.why(3))?.reasons).toMatchObject([{ code: 'commands' }]);
  });

  it('delivered side by side have runs in the order of their events', async () => {
    const bodies = Array.from({ length: 40 }, (_, at) =>
      commentPayload({ comment: 5_000 + at, body: `/agent fix ${at}`, author: 'carol' }),
    );
    await Promise.all(bodies.map((body) => rig.deliver('issue_comment', body)));
    const pipelines = (await rig.settled()).map(({ pipeline }) => pipeline ?? 0);
    expect(pipelines).toHaveLength(40);
    expect(pipelines).toEqual(pipelines.toSorted((a, b) => a - b));
  });

  it('that were authorised are prepared after a restart', async () => {
    await rig.server.store.repositories.set('team/app', { cloneUrl: '/not/there' });
    await comment('/agent plan');
    await until('it is authorised', async () => (await rig.runs())[0]?.authorised);
    expect((await rig.server.store.runs.why(1))?.reasons).toMatchObject([
      { code: 'received', text: expect.stringContaining('it is allowed') },
    ]);
    await rig.server.store.repositories.set('team/app', { cloneUrl: rig.source.dir });
    await rig.restart();
    await isIn(1, 'queued');
  });
});

describe('a comment', () => {
  it.each([
    ["of vole's own account", 'created', '/agent plan', 'Vole-Bot'],
    ["with vole's marker", 'created', '/agent plan\n<!-- vole:run:1 -->', 'alice'],
    ['that was edited', 'edited', '/agent plan', 'alice'],
    ['that was deleted', 'deleted', '/agent plan', 'alice'],
    ['that quotes a command', 'created', '> /agent plan', 'alice'],
    ['that says it later', 'created', 'please\n/agent plan', 'alice'],
    ['with another word', 'created', '/robot plan', 'alice'],
    ['with an unknown command', 'created', '/agent deploy', 'alice'],
  ])('%s asks for nothing', async (_, action, body, author) => {
    expect(await comment(body, { action, author })).toMatch(/^nothing to do: /);
    expect(await rig.events()).toEqual([]);
  });

  it("of vole's own that was deleted is asked to be made anew", async () => {
    const project = rig.forge.state.projects.get('team/app') as Project;
    await comment('/agent fix');
    await isIn(1, 'queued');
    const own = await rig.forge.state.until('its comment', () =>
      project.commentsOf(3).find(({ body }) => body.includes('queued')),
    );
    project.comments.delete(own.id);
    expect(await comment(own.body, { action: 'deleted', author: BOT })).toBe('event 2');
    await rig.forge.state.until('a new one', () => project.commentsOf(3).length === 1);
  });

  it('that aborts ends what was received before it, also what waits to be authorised', async () => {
    await comment('/agent plan', { author: 'carol' });
    await comment('/agent fix');
    await comment('/agent abort now');
    await comment('/agent implement');
    await comment('/agent fix', { issue: 4 });
    for (const run of [1, 2]) await isIn(run, 'cancelled');
    for (const run of [3, 4]) await isIn(run, 'queued');
    expect((await rig.runs())[0]?.detail).toMatch(/^aborted by alice/);
  });

  it('that aborts reaches a command that runs, and is heard of nobody who may not', async () => {
    await comment('/agent fix');
    await isIn(1, 'queued');
    const { runs } = rig.server.store;
    await runs.claim(aClaim());
    await comment('/agent abort', { author: 'bob' });
    await comment('/agent abort');
    await until('it is told', async () => (await runs.get(1))?.cancelWhy?.startsWith('aborted by alice'));
  });
});

it('the word that commands begin with is a setting', async () => {
  await rig.close();
  rig = await EventRig.start({ 'command-word': 'vole' });
  expect(await comment('/agent plan')).toMatch(/^nothing to do/);
  expect(await comment('/vole plan')).toBe('event 1');
});
