import { describe, expect, it } from 'vitest';
import { type Reading, readPayload } from '../../../../src/server/hooks/payload.ts';
import { commentPayload, pullPayload, pushPayload } from '../../../support/payloads.ts';

const SHA = 'a'.repeat(40);

function read(name: string, json: unknown): Reading {
  return readPayload(name, json, { commandWord: 'agent', botLogin: 'vole-bot' });
}

function without(payload: Record<string, unknown>, ...path: string[]): unknown {
  const copy = structuredClone(payload);
  let at = copy;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
  delete at[path.at(-1) ?? ''];
  return copy;
}

describe('a push', () => {
  it('has its ref, start and end', () => {
    expect(read('push', pushPayload({ before: null, after: SHA }))).toEqual({
      type: 'event',
      project: 'team/app',
      event: { kind: 'push', ref: 'refs/heads/main', before: null, after: SHA },
    });
    const sha256 = 'b'.repeat(64);
    expect(read('push', pushPayload({ after: sha256 }))).toMatchObject({ event: { after: sha256 } });
  });

  it('of which only some commits are listed has commits', () => {
    const payload = { ...pushPayload({ after: SHA, commits: 0 }), total_commits: 3 };
    expect(read('push', payload)).toMatchObject({ type: 'event' });
    expect(read('push', without(payload, 'total_commits'))).toMatchObject({ type: 'nothing' });
    expect(read('push', { ...payload, commits: null })).toMatchObject({ type: 'event' });
  });

  it('that GitHub says is a deletion is one', () => {
    const payload = { ...pushPayload({ after: SHA }), deleted: true };
    expect(read('push', payload)).toMatchObject({ type: 'nothing' });
  });

  it.each([['after'], ['before'], ['ref'], ['repository']])('without %s is malformed', (key) => {
    expect(read('push', without(pushPayload({ after: SHA }), key))).toMatchObject({ type: 'malformed' });
  });

  it('whose hash is none is malformed: git would take it for something else', () => {
    for (const after of ['--upload-pack=x', 'HEAD', SHA.slice(1), `${SHA}a`, 'main'])
      expect(read('push', { ...pushPayload({ after: SHA }), after })).toMatchObject({ type: 'malformed' });
  });
});

describe('a pull request', () => {
  it('is of a fork by the repository of its head, whatever the case', () => {
    const fork = (head: string | null) => {
      const reading = read('pull_request', pullPayload({ sha: SHA, head }));
      return reading.type === 'event' && reading.event.kind === 'pull_request' ? reading.event.fork : reading;
    };
    expect(fork('team/app')).toBe(false);
    expect(fork('Team/App')).toBe(false);
    expect(fork('other/app')).toBe(true);
    expect(fork(null)).toBe(true);
  });

  it('without a head or number is malformed', () => {
    const payload = pullPayload({ sha: SHA });
    for (const path of [
      ['number'],
      ['pull_request'],
      ['pull_request', 'head'],
      ['pull_request', 'base', 'ref'],
    ])
      expect(read('pull_request', without(payload, ...path))).toMatchObject({ type: 'malformed' });
  });
});

describe('a comment', () => {
  const plan = commentPayload({ comment: 5, body: '/agent plan' });

  it('is on a pull request as GitHub says it too', () => {
    const onGithub = (pull: boolean) => {
      const payload = commentPayload({ comment: 5, body: '/agent plan', pull });
      return read('issue_comment', without(payload, 'is_pull'));
    };
    expect(onGithub(true)).toMatchObject({ event: { pull: true } });
    expect(onGithub(false)).toMatchObject({ event: { pull: false } });
    const missing = without(plan, 'issue', 'pull_request');
    expect(read('issue_comment', missing)).toMatchObject({ event: { pull: false } });
  });

  it('of nobody, or without text, asks for nothing', () => {
    for (const path of [
      ['comment', 'user'],
      ['comment', 'body'],
    ])
      expect(read('issue_comment', without(plan, ...path))).toMatchObject({ type: 'nothing' });
  });

  it('without a number is malformed', () => {
    for (const path of [['comment', 'id'], ['issue', 'number'], ['action']])
      expect(read('issue_comment', without(plan, ...path))).toMatchObject({ type: 'malformed' });
    expect(read('issue_comment', { ...plan, comment: { id: 1e300, body: 'x' } })).toMatchObject({
      type: 'malformed',
    });
  });
});

it('what is no object names no repository', () => {
  for (const json of [null, [], 'x', 5, {}, { repository: 'team/app' }])
    expect(read('push', json)).toEqual({ type: 'malformed', why: 'the body names no repository' });
});
