import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentCommandRig } from '../../support/agent-command-rig.ts';
import { BOT_TOKEN } from '../../support/forge/forge.ts';
import { until } from '../../support/until.ts';

let rig: AgentCommandRig;
beforeEach(async () => {
  rig = await AgentCommandRig.start();
});
afterEach(() => rig.close());

/** Holds what git sends to push, or the end of its answer, until it is let go. */
function hold(phaseHeld: 'before' | 'after') {
  let letGo = () => {};
  let arrived = () => {};
  const come = new Promise<void>((resolve) => (arrived = resolve));
  const released = new Promise<void>((resolve) => (letGo = resolve));
  rig.events.forge.intercept = async ({ method, path }, phase) => {
    if (method !== 'GIT' || !path.endsWith('/git-receive-pack') || phase !== phaseHeld) return 'go on';
    arrived();
    await released;
    return 'cut';
  };
  const end = () => {
    rig.events.forge.intercept = async () => 'go on';
    letGo();
  };
  rig.events.cleanup.defer(end);
  return { come, letGo: end };
}

interface Seen {
  readonly pid: number;
  readonly argv: string;
  readonly env: string;
}

/** Processes of this test: whatever has this one for an ancestor, and this one. */
function processes(): Seen[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readOr(`/proc/${name}/stat`);
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const isOurs = (pid: number): boolean =>
    pid === process.pid || (pid > 1 && parents.has(pid) && isOurs(parents.get(pid) ?? 0));
  return [...parents.keys()].filter(isOurs).map((pid) => ({
    pid,
    argv: readOr(`/proc/${pid}/cmdline`).replaceAll('\0', ' '),
    env: readOr(`/proc/${pid}/environ`),
  }));
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const BASIC = Buffer.from(`x-access-token:${BOT_TOKEN}`).toString('base64');
const hasToken = (text: string) => text.includes(BOT_TOKEN) || text.includes(BASIC);

describe('a push that hangs', () => {
  it('ends with its run, within seconds, and holds up no other repository', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    const { request, bundle } = rig.change(leased, { 'a.txt': 'two\n' });
    await rig.handIn(session, leased, bundle);
    const held = hold('before');
    const published = rig.published(session, leased, request);
    await held.come;

    const seen = processes();
    const pushing = seen.filter(({ argv }) => /\bpush --porcelain\b/.test(argv));
    expect(pushing).toHaveLength(1);
    expect(seen.filter(({ argv }) => hasToken(argv))).toEqual([]);
    const having = seen.filter(({ env }) => hasToken(env));
    expect(having.length).toBeGreaterThan(0);
    expect(having.every(({ argv }) => /^(?:\S*\/)?git\b/.test(argv))).toBe(true);

    // of another repository, though this one's turn is taken
    const other = await rig.events.add('team/other');
    other.commit({
      '.vole.yml': 'jobs: {a: {steps: [{run: "true"}]}}\ncommands: {plan: {steps: [{run: x}]}}\n',
    });
    const elsewhere = await rig.comment('/agent plan', { project: 'team/other', issue: 2 }, 'team/other');
    await rig.isIn(elsewhere.id, 'queued');

    await rig.comment('/agent abort', { issue: 3 });
    const began = performance.now();
    expect(await published).toEqual({
      state: 'failed',
      why: 'the run was stopped while its change was being pushed',
    });
    await until(
      'git to be gone',
      () => processes().every(({ argv }) => !/\bpush --porcelain\b/.test(argv)),
      8_000,
    );
    expect(performance.now() - began).toBeLessThan(8_000);
    const cancelled = { result: 'cancelled', reason: 'cancelled', detail: 'aborted' } as const;
    await rig.record(session, leased, { report: 'Not pushed.' }, cancelled);
    expect(await rig.commentSays(leased.run, /cancelled/)).toContain('Not pushed.');
    expect(rig.git.head('agent/issue-3')).toBeNull();
  });

  it('tells the runner with its first reply that the run is cancelled', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    const { request, bundle } = rig.change(leased, { 'a.txt': 'two\n' });
    await rig.handIn(session, leased, bundle);
    await rig.store.runs.cancel(leased.run, 'enough');
    const reply = await session.publish(leased.run, leased.attempt, request);
    expect(reply).toMatchObject({ type: 'ok', cancel: 'enough' });
    expect(await rig.published(session, leased, request)).toMatchObject({ state: 'failed' });
    expect(rig.git.head('agent/issue-3')).toBeNull();
  });
});

describe('a server that is started again', () => {
  it('before the push went through does it then', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    const { request, bundle } = rig.change(leased, { 'a.txt': 'two\n' });
    await rig.handIn(session, leased, bundle);
    const held = hold('before');
    expect(await session.publish(leased.run, leased.attempt, request)).toMatchObject({
      published: { state: 'pending' },
    });
    await held.come;
    await rig.events.restart();
    held.letGo();
    const again = await rig.connect();
    expect(await rig.published(again, leased, request)).toMatchObject({
      state: 'pushed',
      commit: request.commit,
    });
    expect(rig.git.head('agent/issue-3')).toBe(request.commit);
  });

  it.each([false, true])(
    'when it was through and nobody knew finds it (rebased: %s), and makes one pull request',
    async (rebased) => {
      const session = await rig.connect();
      const leased = await rig.command(session, '/agent implement', { issue: 3 });
      if (rebased) {
        rig.git.work.git('checkout', '-q', '--detach', 'main');
        rig.git.push({ 'b.txt': 'theirs\n' }, 'refs/heads/agent/issue-3');
      }
      const { request, bundle } = rig.change(leased, { 'a.txt': 'two\n' });
      await rig.handIn(session, leased, bundle);
      const held = hold('after');
      await session.publish(leased.run, leased.attempt, request);
      await held.come;
      const pushed = rig.git.head('agent/issue-3');
      await rig.events.restart();
      held.letGo();
      // somebody builds on it meanwhile
      rig.git.work.git('fetch', '-q', rig.git.bare, 'agent/issue-3');
      rig.git.work.git('checkout', '-q', '--detach', 'FETCH_HEAD');
      const after = rig.git.push({ more: 'x' }, 'refs/heads/agent/issue-3');
      const again = await rig.connect();
      expect(await rig.published(again, leased, request)).toMatchObject({
        state: 'pushed',
        commit: pushed,
        rebased,
        pull: { number: 5 },
      });
      expect(rig.git.head('agent/issue-3')).toBe(after);
    },
  );

  it('when all was done gives the same answer again, and asks nobody', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    const { request, bundle } = rig.change(leased, { 'a.txt': 'two\n' });
    await rig.handIn(session, leased, bundle);
    const published = await rig.published(session, leased, request);
    await rig.events.restart();
    rig.git.refusePushes('nothing more');
    const again = await rig.connect();
    expect(await rig.published(again, leased, request)).toEqual(published);
    expect(rig.events.forge.seen('POST', /\/pulls$/)).toHaveLength(1);
  });
});

it('a forge that fails to make the pull request is asked again, and makes one', async () => {
  const session = await rig.connect();
  const leased = await rig.command(session, '/agent implement', { issue: 3 });
  rig.events.forge.fault({
    on: ({ method, path }) => method === 'POST' && path.endsWith('/pulls'),
    kind: 'drop',
    after: true,
    times: 1,
  });
  expect(await rig.publish(session, leased, { 'a.txt': 'two\n' })).toMatchObject({
    state: 'pushed',
    pull: { number: 5 },
  });
  expect([...rig.project.issues.keys()]).toEqual([1, 2, 3, 4, 5]);
});

it('a token that may make no pull request is told of, with the branch that was pushed', async () => {
  const session = await rig.connect();
  const leased = await rig.command(session, '/agent implement', { issue: 3 });
  rig.events.forge.fault({
    on: ({ method, path }) => method === 'POST' && path.endsWith('/pulls'),
    kind: 403,
  });
  expect(await rig.publish(session, leased, { 'a.txt': 'two\n' })).toMatchObject({
    state: 'failed',
    why: expect.stringMatching(/^agent\/issue-3 was pushed, but not its pull request made: .*HTTP 403/),
  });
});
