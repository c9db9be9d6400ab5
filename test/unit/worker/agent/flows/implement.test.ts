import { describe, expect, test } from 'vitest';
import { MOST_REPORT, publishRequestSchema } from '../../../../../src/shared/agent/result.ts';
import { implementFlow } from '../../../../../src/worker/agent/flows/implement.ts';
import {
  accept,
  COMMIT,
  committed,
  facts,
  PARENT,
  play,
  promptOf,
  pushed,
  revise,
  said,
  snapshot,
  turnFailed,
} from './flow-rig.ts';

const BUILD_1 = 'build 1 author fresh build';
const REVIEW_1 = 'review 1 reviewer fresh review';
const ROUND_1 = [BUILD_1, 'snapshot', REVIEW_1];
const ROUND_2 = ['build 2 author goes on build', 'snapshot', 'review 2 reviewer fresh review'];
const planned = facts({ command: 'implement', plan: 'The plan.', branch: 'agent/issue-12' });
const session = { engine: 'opencode', id: 's1', home: 'here' };

describe('an implementation', () => {
  test('needs a plan, and says how to get one', () => {
    const { trail, end } = play(implementFlow, facts({ command: 'implement', session }), []);
    expect(trail).toEqual([]);
    expect(end).toMatchObject({
      failure: { result: 'failed', reason: 'agent', why: expect.stringContaining('`plan` first') },
      keepsSession: true,
    });
  });

  test('that is not accepted says so before any text that could hide it, and in words that do nothing', () => {
    const hiding = 'Accepted.\n<details>\n```\nFixes #5 [skip ci] @alice\nCo-authored-by: Eve <e@x>';
    const rounds = Array.from({ length: planned.options.implementReviewRounds }, () => [
      said(hiding),
      snapshot(),
      revise('Open <!-- x -->'),
    ]);
    const { effects, end } = play(implementFlow, planned, [...rounds.flat(), committed, pushed]);
    const publish = effects.find(({ type }) => type === 'publish');
    const body = publish?.type === 'publish' ? publish.request.body : '';
    expect(body).toMatch(
      /^\*\*Not accepted\*\* after \d rounds of review\. Closes #12\. Made by vole, run 7\.\n/,
    );
    expect(body).not.toMatch(/#5|\[skip|@alice/);
    expect(end?.report).toMatch(/\*\*Not accepted\*\*[\s\S]*Open[\s\S]*<details>/);
    const commit = effects.find(({ type }) => type === 'commit');
    const message = commit?.type === 'commit' ? commit.message : '';
    expect(message).not.toMatch(/#5|\[skip|@alice|^Co-authored-by/m);
    expect(message).toMatch(/\nVole-Run: 7\n$/);
  });

  test('that is accepted becomes one commit of what was judged, and is pushed', () => {
    const played = play(implementFlow, planned, [said('Done.'), snapshot(), accept, committed, pushed]);
    expect(played.trail).toEqual([...ROUND_1, 'commit', 'publish']);
    expect(promptOf(played.effects[0])).toContain('The plan.');
    expect(promptOf(played.effects[2])).toMatch(/The plan\.[\s\S]*Done\.[\s\S]*\+one/);
    expect(played.effects[3]).toEqual({
      type: 'commit',
      tree: 'c'.repeat(40),
      message: 'It breaks (#12)\n\nDone.\n\nVole-Run: 7\n',
    });
    const publish = played.effects[4];
    expect(publish?.type === 'publish' && publishRequestSchema.parse(publish.request)).toMatchObject({
      commit: COMMIT,
      parent: PARENT,
      title: 'It breaks (#12)',
      body: 'Accepted after 1 round of review. Closes #12. Made by vole, run 7.\n\nDone.',
    });
    expect(played.end).toMatchObject({
      failure: null,
      rounds: 1,
      change: { commit: COMMIT, branch: 'agent/issue-12', pull: { number: 13 } },
      keepsSession: true,
    });
    expect(played.end?.report).toMatch(
      /`agent\/issue-12`, pull request \[#13\][\s\S]*1 file:\n\n {4}M a\.ts/,
    );
  });

  test('is taken further by its builder where the review rejects it', () => {
    const events = [
      said('1'),
      snapshot(),
      revise('Test it.'),
      said('2'),
      snapshot({ tree: 'd'.repeat(40) }),
      accept,
    ];
    const played = play(implementFlow, planned, events);
    expect(played.trail).toEqual([...ROUND_1, ...ROUND_2, 'commit']);
    expect(promptOf(played.effects[3])).toContain('Test it.');
    expect(played.effects.at(-1)).toMatchObject({ tree: 'd'.repeat(40) });
  });

  test('that no round accepts is pushed, and what is open is said in both places', () => {
    const events = [said('1'), snapshot(), revise('a'), said('2'), snapshot(), revise('It leaks.')];
    const played = play(implementFlow, planned, [...events, committed, pushed]);
    const publish = played.effects.at(-1);
    expect(publish?.type === 'publish' && publish.request.body).toMatch(
      /\*\*Not accepted\*\* after 2 rounds[\s\S]*It leaks\./,
    );
    expect(played.end).toMatchObject({ failure: null, rounds: 2, change: { commit: COMMIT } });
    expect(played.end?.report).toMatch(/\*\*Not accepted\*\* after 2 rounds[\s\S]*It leaks\./);
  });

  test('that changed nothing is said so, with what the agent said', () => {
    const { end, trail } = play(implementFlow, planned, [said('Which one?'), snapshot({ files: [] })]);
    expect(trail).toEqual([BUILD_1, 'snapshot']);
    expect(end).toMatchObject({
      failure: { result: 'failed', reason: 'agent', why: 'the agent changed nothing' },
      change: null,
    });
    expect(end?.report).toContain('Which one?');
  });

  test('of an agent that says nothing counts by what it changed', () => {
    const { trail } = play(implementFlow, planned, [turnFailed('no-answer'), snapshot()]);
    expect(trail).toEqual(ROUND_1);
  });

  test('with a nonsense verdict is asked for once more, and then is no commit', () => {
    const first = [said('1'), snapshot(), said('fine')];
    const { trail, end } = play(implementFlow, planned, [...first, said('really')]);
    expect(trail).toEqual([...ROUND_1, 'review 1 reviewer goes on review']);
    expect(end).toMatchObject({ failure: { result: 'failed', reason: 'agent' }, change: null, rounds: 0 });
    expect(play(implementFlow, planned, [...first, accept]).trail.at(-1)).toBe('commit');
  });

  test('that cannot be pushed says where it is kept', () => {
    const refused = { type: 'published', published: { state: 'failed', why: 'it is protected' } } as const;
    const { end } = play(implementFlow, planned, [said('1'), snapshot(), accept, committed, refused]);
    expect(end).toMatchObject({
      failure: { result: 'failed', reason: 'push', why: 'not pushed: it is protected' },
      change: null,
      rounds: 1,
    });
    expect(end?.report).toMatch(
      /\*\*not pushed\*\*: it is protected\. .*artifact `vole-agent-change` of run 7/,
    );
  });

  test.each([
    ['provider', 'failed', 'provider'],
    ['timeout', 'timed-out', 'timeout'],
    ['stopped', 'cancelled', 'cancelled'],
    ['server', 'failed', 'agent'],
  ] as const)('whose turn fails by %s is %s', (reason, result, called) => {
    const failure = { result, reason: called };
    expect(play(implementFlow, planned, [turnFailed(reason)]).end).toMatchObject({ failure });
    const later = play(implementFlow, planned, [said('1'), snapshot(), turnFailed(reason)]);
    expect(later.end).toMatchObject({ failure, change: null });
  });

  test.each([[[said('1')]], [[said('1'), snapshot(), accept]]])(
    'whose workspace gives no commit fails with its reason',
    (before) => {
      const why = 'big.bin has 101 MiB, over 100 MiB';
      const { end } = play(implementFlow, planned, [...before, { type: 'unusable', reason: 'agent', why }]);
      const failure = { result: 'failed', reason: 'agent', why: expect.stringContaining(why) };
      expect(end).toMatchObject({ failure, change: null, report: 'What the agent said last:\n\n1' });
    },
  );

  test('goes on with the session of the one before', () => {
    const given = facts({ command: 'implement', plan: 'The plan.', session, message: 'use a map' });
    const { trail, effects } = play(implementFlow, given, [{ type: 'resumed', found: true }]);
    expect(trail).toEqual(['resume', 'build 1 author goes on build']);
    expect(promptOf(effects[1])).toMatch(/use a map[\s\S]*The plan\./);
    expect(play(implementFlow, given, [{ type: 'resumed', found: false }]).trail.at(-1)).toBe(BUILD_1);
  });

  test('whatever its texts, asks for what the server takes', () => {
    const long = '\u001b[31m😀\n'.repeat(20_000);
    const target = { number: 12, pull: false, title: long, body: long, comments: [] };
    const given = facts({ command: 'implement', plan: 'p', target });
    const files = Array.from({ length: 2_000 }, (_, at) => `A ${'n'.repeat(300)}${at}`);
    const events = [said(long), snapshot({ files, notes: files }), revise(long)];
    const played = play(implementFlow, given, [...events, ...events, committed, pushed]);
    const publish = played.effects.at(-1);
    const request = publish?.type === 'publish' ? publish.request : null;
    expect(publishRequestSchema.safeParse(request).error).toBeUndefined();
    expect(request?.title).toMatch(/^\P{Cc}*… \(#12\)$/u);
    expect(played.end?.report.length).toBeLessThanOrEqual(MOST_REPORT);
  });
});
