import { describe, expect, it } from 'vitest';
import { agentPlace } from '../../../../src/server/events/agent-command.ts';
import { boundedTexts } from '../../../../src/server/events/agent-target.ts';
import type { PullRequestHead } from '../../../../src/server/forges/client.ts';

const target = { number: 7 };
const project = 'team/app';
const HEAD: PullRequestHead = {
  open: true,
  sha: 'a'.repeat(40),
  ref: 'topic',
  repository: 'Team/App',
  baseRef: 'main',
};
const on = (head: Partial<PullRequestHead> | null) => ({
  target,
  project,
  head: head && { ...HEAD, ...head },
});

describe('the place of an agent', () => {
  it('is a branch of its own for an issue', () => {
    expect(agentPlace('implement', on(null))).toEqual({
      branch: 'agent/issue-7',
      from: ['refs/heads/agent/issue-7'],
      fixed: false,
    });
    expect(agentPlace('plan', on(null))).toEqual({ branch: null, from: [], fixed: false });
    expect(agentPlace('fix', on(null))).toHaveProperty('fault');
  });

  it.each(['implement', 'fix'] as const)('of %s is the branch of the pull request', (name) => {
    const place = { branch: 'topic', from: ['refs/heads/topic'], fixed: true };
    expect(agentPlace(name, on({}))).toEqual(place);
    expect(agentPlace(name, on({ open: false }))).toHaveProperty('fault');
    expect(agentPlace(name, on({ repository: 'eve/app' }))).toHaveProperty('fault');
    expect(agentPlace(name, on({ repository: null }))).toHaveProperty('fault');
    expect(agentPlace(name, on({ ref: '-x' }))).toHaveProperty('fault');
  });

  it('of a plan is the head of the pull request, also of a closed one', () => {
    const from = ['refs/heads/topic', 'refs/pull/7/head'];
    expect(agentPlace('plan', on({ open: false }))).toEqual({ branch: null, from, fixed: true });
    const theirs = agentPlace('plan', on({ repository: 'eve/app' }));
    expect(theirs).toMatchObject({ branch: null, fixed: true });
    expect('from' in theirs && theirs.from.every((ref) => ref === 'refs/pull/7/head')).toBe(true);
  });
});

describe('what stands on the target', () => {
  it('is given whole where it is short', () => {
    const issue = { title: 't', body: 'b', comments: [{ author: 'a', body: 'x' }] };
    expect(boundedTexts(issue)).toEqual(issue);
  });

  it('loses the oldest comments first where it is long', () => {
    const comments = ['1', '2', '3'].map((digit) => ({ author: 'a', body: digit.repeat(40) }));
    const bounded = boundedTexts({ title: 't', body: 'b'.repeat(30), comments }, 110);
    expect(bounded.body).toBe('b'.repeat(30));
    expect(bounded.comments.map(({ body }) => body)).toEqual([
      `${'2'.repeat(27)}\n... (cut)`,
      '3'.repeat(40),
    ]);
  });

  it('is never more than it may be, and not cut within a character', () => {
    const comments = Array.from({ length: 100 }, () => ({ author: 'someone', body: '😀'.repeat(2_000) }));
    const bounded = boundedTexts({ title: 'x'.repeat(5_000), body: '😀'.repeat(50_000), comments });
    const all = [bounded.title, bounded.body, ...bounded.comments.flatMap((one) => [one.author, one.body])];
    expect(all.join('').length).toBeLessThanOrEqual(64 * 1024);
    expect(all.every((text) => !/\p{Surrogate}/u.test(text))).toBe(true);
    expect(bounded.comments.length).toBeGreaterThan(0);
  });
});
