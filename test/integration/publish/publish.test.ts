import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentCommandRig } from '../../support/agent-command-rig.ts';

let rig: AgentCommandRig;
beforeEach(async () => {
  rig = await AgentCommandRig.start();
});
afterEach(() => rig.close());

function showOf(ref: string, file: string): string {
  return rig.git.git('show', `${ref}:${file}`);
}

describe('a change that an agent hands in', () => {
  it('is pushed over HTTP with the token, as a branch with one pull request', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement do it', { issue: 3 });
    const { request, bundle } = rig.change(leased, { 'a.txt': 'two\n' });
    await rig.handIn(session, leased, bundle);
    const published = await rig.published(session, leased, request);
    expect(published).toEqual({
      state: 'pushed',
      commit: request.commit,
      branch: 'agent/issue-3',
      pull: { number: 5, url: 'https://forge.example/team/app/pulls/5' },
      rebased: false,
    });
    expect(rig.git.head('agent/issue-3')).toBe(request.commit);
    expect(rig.project.issues.get(5)).toMatchObject({ title: 'Do it', body: 'Because.' });
    // asked again, it is not done again
    expect(await rig.published(session, leased, request)).toEqual(published);
    expect(rig.events.forge.seen('POST', /\/pulls$/)).toHaveLength(1);
  });

  it('on a branch that has a pull request is added to it', async () => {
    const session = await rig.connect();
    const first = await rig.command(session, '/agent implement', { issue: 3 });
    await rig.publish(session, first, { 'a.txt': 'two\n' });
    await rig.record(session, first);
    const second = await rig.command(session, '/agent implement and more', { issue: 3 });
    const before = rig.git.head('agent/issue-3');
    expect(second.spec.source).toMatchObject({ sha: before, ref: 'refs/heads/agent/issue-3' });
    const published = await rig.publish(session, second, { 'c.txt': 'c\n' });
    expect(published).toMatchObject({ state: 'pushed', pull: { number: 5 }, rebased: false });
    expect(rig.git.git('rev-parse', 'agent/issue-3^')).toBe(before);
    expect([...rig.project.issues.keys()]).toEqual([1, 2, 3, 4, 5]);
    expect(rig.events.forge.seen('POST', /\/pulls$/)).toHaveLength(1);
  });

  it('is rebased once where the branch has moved', async () => {
    const session = await rig.connect();
    const first = await rig.command(session, '/agent implement', { issue: 3 });
    await rig.publish(session, first, { 'a.txt': 'two\n' });
    await rig.record(session, first);
    const second = await rig.command(session, '/agent implement', { issue: 3 });
    rig.git.work.git('checkout', '-q', '--detach', second.spec.source?.sha ?? '');
    const theirs = rig.git.push({ 'b.txt': 'theirs\n' }, 'refs/heads/agent/issue-3');
    const published = await rig.publish(session, second, { 'c.txt': 'ours\n' });
    expect(published).toMatchObject({ state: 'pushed', rebased: true, branch: 'agent/issue-3' });
    expect(rig.git.head('agent/issue-3')).toBe(published.state === 'pushed' && published.commit);
    expect(rig.git.git('rev-parse', 'agent/issue-3^')).toBe(theirs);
    expect(showOf('agent/issue-3', 'b.txt')).toBe('theirs');
    expect(showOf('agent/issue-3', 'c.txt')).toBe('ours');
    expect(rig.git.git('log', '-1', '--format=%s %an', 'agent/issue-3')).toBe('A change a');
  });

  it('is rebased where the branch moves between the look and the push', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    let moved = 0;
    rig.events.forge.intercept = async ({ method, path, query }, phase) => {
      const pushes = method === 'GIT' && `${path}${query}`.endsWith('git-receive-pack');
      if (!pushes || phase !== 'before' || moved++ > 0) return 'go on';
      rig.git.work.git('checkout', '-q', '--detach', 'main');
      rig.git.push({ 'b.txt': 'theirs\n' }, 'refs/heads/agent/issue-3');
      return 'go on';
    };
    expect(await rig.publish(session, leased, { 'c.txt': 'ours\n' })).toMatchObject({
      state: 'pushed',
      rebased: true,
    });
    expect(moved).toBeGreaterThan(1);
    expect(showOf('agent/issue-3', 'b.txt')).toBe('theirs');
  });

  it('whose branch moves again and again is given up after one rebase', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    let moved = 0;
    rig.git.work.git('checkout', '-q', '--detach', 'main');
    rig.events.forge.intercept = async ({ method, path, query }, phase) => {
      const pushes = method === 'GIT' && `${path}${query}`.includes('service=git-receive-pack');
      if (pushes && phase === 'before') rig.git.push({ 'b.txt': `${moved++}` }, 'refs/heads/agent/issue-3');
      return 'go on';
    };
    const { request, bundle } = rig.change(leased, { 'c.txt': 'ours\n' });
    await rig.handIn(session, leased, bundle);
    expect(await rig.published(session, leased, request)).toMatchObject({
      state: 'failed',
      why: expect.stringMatching(/^the push to agent\/issue-3 was rejected again: /),
    });
    expect(moved).toBe(2);
  });

  it('is pushed to another clone URL as git can, without the token', async () => {
    await rig.store.repositories.set('team/app', { cloneUrl: rig.git.bare });
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    const env = path.join(rig.events.dir, 'hook-env');
    rig.git.hook('pre-receive', `env > '${env}'`);
    expect(await rig.publish(session, leased, { 'a.txt': 'two\n' })).toMatchObject({
      state: 'pushed',
      pull: { number: 5 },
    });
    const seen = readFileSync(env, 'utf8');
    expect(seen).toContain('GIT_');
    expect(seen).not.toMatch(/bot-token|Authorization|extraHeader/i);
  });

  it('that conflicts with what was pushed meanwhile fails and says in which file', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    rig.git.work.git('checkout', '-q', '--detach', 'main');
    const theirs = rig.git.push({ 'a.txt': 'theirs\n' }, 'refs/heads/agent/issue-3');
    expect(await rig.publish(session, leased, { 'a.txt': 'ours\n' })).toEqual({
      state: 'failed',
      why: 'agent/issue-3 has moved and the change cannot be rebased: it conflicts with what was pushed meanwhile in a.txt',
    });
    expect(rig.git.head('agent/issue-3')).toBe(theirs);
    expect(rig.events.forge.seen('POST', /\/pulls$/)).toEqual([]);
  });

  it('that a protected branch refuses fails with what the forge says', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    rig.git.refusePushes('Gitea: Not allowed to push to protected branch agent/issue-3');
    expect(await rig.publish(session, leased, { 'a.txt': 'two\n' })).toEqual({
      state: 'failed',
      why: 'the push to agent/issue-3 was rejected: Gitea: Not allowed to push to protected branch agent/issue-3 (pre-receive hook declined)',
    });
  });

  it('with a token that may not push fails and says so without the token', async () => {
    const session = await rig.connect();
    const leased = await rig.command(session, '/agent implement', { issue: 3 });
    rig.events.forge.user(rig.project, 'vole-bot', 'read');
    const published = await rig.publish(session, leased, { 'a.txt': 'two\n' });
    expect(published).toMatchObject({ state: 'failed', why: expect.stringMatching(/push .*error: 403/) });
    expect(JSON.stringify(published)).not.toContain('bot-token');
  });
});
