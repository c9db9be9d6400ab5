import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlRig, PUBLIC_URL, REPOSITORY } from '../../support/control-rig.ts';
import { BOT } from '../../support/forge/forge.ts';
import { outcome } from '../../support/store-rig.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await ControlRig.open();
  rig.project.issue(3);
  rig.forge.user(rig.project, 'alice', 'write');
  await rig.start();
});
afterEach(() => rig.cleanup.run());

const bodies = () => rig.project.commentsOf(3).map(({ body }) => body);
const writes = () => rig.forge.state.requests.filter(({ method }) => method !== 'GET');

async function running() {
  const run = await rig.command(3, 'alice');
  await rig.settle();
  const leased = await rig.leased();
  await rig.settle();
  return { run, leased };
}

/** As somebody on the page does, and as the webhook tells it. */
async function deleted(): Promise<void> {
  const [comment] = rig.project.commentsOf(3);
  if (!comment) throw new Error('no comment');
  rig.project.comments.delete(comment.id);
  await rig.store.tasks.commentDeleted(REPOSITORY, comment.body);
  await rig.settle();
}

describe('the comment of a command', () => {
  it('is one, brought through the states of its run', async () => {
    const { run, leased } = await running();
    const link = `([run ${run}](${PUBLIC_URL}/runs/${run}))`;
    expect(bodies()).toEqual([`<!-- vole:run:${run} -->\n\`plan\` for \`alice\`: **running** ${link}`]);
    await rig.finish(leased);
    await rig.settle();
    expect(bodies()).toEqual([`<!-- vole:run:${run} -->\n\`plan\` for \`alice\`: **passed** ${link}`]);
    expect(writes().map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH']);
    expect(rig.project.commentsOf(3).map(({ author }) => author)).toEqual([BOT]);
  });

  it('is made anew where it was deleted: while it waits, while it runs, after the end', async () => {
    const run = await rig.command(3, 'alice');
    await rig.settle();
    await deleted();
    expect(bodies()).toEqual([expect.stringContaining('**queued**')]);
    const leased = await rig.leased();
    await rig.settle();
    await deleted();
    expect(bodies()).toEqual([expect.stringContaining('**running**')]);
    await rig.finish(leased);
    await rig.settle();
    await deleted();
    expect(bodies()).toEqual([expect.stringContaining(`<!-- vole:run:${run} -->`)]);
    expect(bodies()[0]).toContain('**passed**');
  });

  it('is made anew at the next change where nobody told of its deletion', async () => {
    const { leased } = await running();
    rig.project.comments.clear();
    await rig.finish(leased);
    await rig.settle();
    expect(bodies()).toEqual([expect.stringContaining('**passed**')]);
  });

  it('is left alone where a deletion was told of that never was', async () => {
    await running();
    const before = writes().length;
    await rig.store.tasks.commentDeleted(REPOSITORY, bodies()[0] ?? '');
    await rig.settle();
    expect(writes()).toHaveLength(before);
  });

  it('is found by its marker where its id was lost, and nobody else’s with the same marker is touched', async () => {
    const lost = rig.forge.fault({
      on: ({ method, path }) => method === 'POST' && path.endsWith('/comments'),
      kind: 'half',
      times: 1,
    });
    const run = await rig.command(3, 'alice');
    const copy = rig.forge.comment(rig.project, 3, 'mallory', `see <!-- vole:run:${run} -->`);
    await rig.settle();
    await rig.passUntilIdle();
    expect(lost.hits).toBe(1);
    await rig.finish(await rig.leased());
    await rig.settle();
    const own = rig.project.commentsOf(3).filter(({ author }) => author === BOT);
    expect(own.map(({ body }) => body)).toEqual([expect.stringContaining('**passed**')]);
    expect(copy.body).toBe(`see <!-- vole:run:${run} -->`);
    expect((await rig.store.forges.get(REPOSITORY))?.botLogin).toBe(BOT);
  });

  it('is not taken for that of another run whose text holds its marker', async () => {
    const first = await rig.command(3, 'alice');
    await rig.settle();
    const leased = await rig.leased();
    const next = `<!-- vole:run:${first + 1} -->`;
    const ended = { ...outcome('failed'), detail: `the file ${next} is too large` };
    await rig.store.runs.record('build1', leased.run, leased.attempt, ended, 0);
    await rig.settle();
    rig.project.comments.set(9_999, {
      id: 9_999,
      issue: 3,
      author: BOT,
      body: `of old: ${next}`,
      updatedAt: Date.now(),
    });
    const lost = rig.forge.fault({
      on: ({ method, path }) => method === 'POST' && path.endsWith('/comments'),
      kind: 'drop',
      times: 1,
    });
    expect(await rig.command(3, 'alice')).toBe(first + 1);
    await rig.settle();
    await rig.passUntilIdle();
    expect(lost.hits).toBe(1);
    expect(bodies()).toEqual([
      expect.stringContaining('is too large'),
      `of old: ${next}`,
      expect.stringMatching(new RegExp(`^${next}\n`)),
    ]);
    expect(bodies()[0]).not.toContain(next);
  });

  it('is looked for where the repository has moved, and what has its old id there is left alone', async () => {
    const { leased } = await running();
    const moved = rig.forge.project('new/home');
    moved.issue(3);
    const [old] = rig.project.commentsOf(3);
    const other = { ...rig.forge.comment(moved, 3, BOT, 'another thing'), id: old?.id ?? 0 };
    moved.comments.clear();
    moved.comments.set(other.id, other);
    await rig.register(rig.project, { project: 'new/home' });
    await rig.finish(leased);
    await rig.settle();
    expect(other.body).toBe('another thing');
    expect(moved.commentsOf(3)).toHaveLength(2);
    expect(moved.commentsOf(3)[1]?.body).toContain('**passed**');
  });

  it('says why a command was refused', async () => {
    rig.forge.user(rig.project, 'bob', 'read');
    const run = await rig.command(3, 'bob');
    await rig.settle();
    expect((await rig.store.runs.get(run))?.state).toBe('refused');
    expect(bodies()[0]).toContain('**refused**');
    expect(bodies()[0]).toContain('bob has read permission here, and commands take write, admin or owner');
    const stranger = await rig.command(3, 'nobody-knows-me');
    await rig.settle();
    expect((await rig.store.runs.get(stranger))?.state).toBe('refused');
  });

  it('shows a fault in one bounded line, as code, without a secret', async () => {
    await rig.secrets.set(REPOSITORY, 'TOKEN', Buffer.from('very-secret-word'));
    const { leased } = await running();
    const detail = `@everyone <b>\`very-secret-word\`\n${'x'.repeat(480)}`.slice(0, 500);
    await rig.store.runs.record('build1', leased.run, leased.attempt, outcome('failed', { detail }), 0);
    await rig.settle();
    const last = bodies()[0]?.split('\n').at(-1) ?? '';
    expect(last).toMatch(/^`@everyone <b>'\*\*\*' x+`$/);
    expect(last.length).toBeLessThanOrEqual(502);
  });

  it('is given up at once on a locked issue, and made when it is retried', async () => {
    const issue = rig.project.issue(8);
    issue.locked = true;
    await rig.command(8, 'alice');
    await rig.settle();
    expect(await rig.dead()).toEqual([
      expect.stringMatching(/^comment: POST .*\/issues\/8\/comments: HTTP 423/),
    ]);
    issue.locked = false;
    expect(await rig.store.tasks.retry(null)).toBe(1);
    await rig.settle();
    expect(rig.project.commentsOf(8)).toHaveLength(1);
  });

  it('is given up in the end where its issue is gone', async () => {
    await rig.command(99, 'alice');
    await rig.settle();
    await rig.passUntilIdle();
    expect(await rig.dead()).toEqual([
      expect.stringMatching(/^comment: .*issues\/99\/comments: HTTP (404|500)/),
    ]);
  });
});

describe('an abort', () => {
  const abort = async (author: string, comment = 77) => {
    const upToRun = (await rig.store.runs.list({ limit: 1 }))[0]?.id ?? 0;
    const payload = { issue: 3, comment, author, upToRun };
    await rig.store.tasks.request({
      kind: 'abort',
      repository: REPOSITORY,
      subject: String(comment),
      payload,
    });
    await rig.settle();
  };

  it('ends what waits and what runs on its issue, and nothing on others or received later', async () => {
    rig.project.issue(4);
    const { run: first } = await running();
    const second = await rig.command(3, 'alice');
    const elsewhere = await rig.command(4, 'alice');
    await rig.settle();
    await rig.stop();
    const aborted = abort('alice');
    const later = await rig.command(3, 'alice');
    await rig.start();
    await aborted;
    await rig.settle();
    const run = async (id: number) => rig.store.runs.get(id);
    expect(await run(first)).toMatchObject({ state: 'running', cancelWhy: 'aborted by alice (comment 77)' });
    expect(await run(second)).toMatchObject({ state: 'cancelled' });
    expect((await run(elsewhere))?.state).toBe('queued');
    expect((await run(later))?.state).toBe('queued');
    expect(bodies().filter((body) => body.includes('**being cancelled**'))).toHaveLength(1);
    expect(bodies()).toHaveLength(3);
  });

  it('is refused to those who may give no commands, with a comment that says so', async () => {
    const { run } = await running();
    rig.forge.user(rig.project, 'bob', 'read');
    await abort('bob');
    expect((await rig.store.runs.get(run))?.cancelWhy).toBeNull();
    expect(bodies().at(-1)).toContain('<!-- vole:comment:77 -->\n`bob has read permission here');
  });

  it('says so where there is nothing to end, but not where it had ended it in a life before', async () => {
    await abort('alice', 78);
    expect(bodies()).toEqual(['<!-- vole:comment:78 -->\n`nothing to abort: no command waits or runs here`']);
    const run = await rig.command(3, 'alice');
    await rig.settle();
    // As an attempt did whose process was killed before it had written its end.
    await rig.store.runs.cancel(run, 'aborted by alice (comment 79)');
    await abort('alice', 79);
    expect(bodies()).toHaveLength(2);
  });

  it('does not wait for commands that wait for their authorisation', async () => {
    const hang = rig.forge.fault({ on: ({ path }) => path.includes('/alice/permission'), kind: 'hang' });
    rig.forge.user(rig.project, 'carol', 'admin');
    const run = await rig.command(3, 'alice');
    rig.pass(200);
    await rig.forge.state.until('the authorisation to hang', () => hang.hits > 0);
    const payload = { issue: 3, comment: 80, author: 'carol', upToRun: run };
    await rig.store.tasks.request({ kind: 'abort', repository: REPOSITORY, subject: '80', payload });
    await rig.runIs(run, 'cancelled');
  });
});
