import { describe, expect, test } from 'vitest';
import { MOST_REPORT } from '../../../../../src/shared/agent/result.ts';
import { planFlow } from '../../../../../src/worker/agent/flows/plan.ts';
import { accept, facts, play, promptOf, revise, said, turnFailed } from './flow-rig.ts';

const DRAFT_1 = 'draft 1 author fresh plan';
const REVIEW_1 = 'review 1 reviewer fresh review';
const DRAFT_2 = 'draft 2 author goes on plan';
const REVIEW_2 = 'review 2 reviewer fresh review';
const session = { engine: 'opencode', id: 's1', home: 'here' };
const nonsense = said('looks good');

describe('a plan', () => {
  test('that its review accepts is shown, and kept as accepted', () => {
    const { trail, end } = play(planFlow, facts(), [said('Do it.'), accept]);
    expect(trail).toEqual([DRAFT_1, REVIEW_1]);
    expect(end).toMatchObject({
      failure: null,
      plan: { text: 'Do it.', accepted: true },
      rounds: 1,
      keepsSession: true,
    });
    expect(end?.report).toBe('**Plan**, accepted after 1 round of review.\n\nDo it.');
  });

  test('is revised by its author, and judged again by a session that has not seen the first', () => {
    const played = play(planFlow, facts(), [said('One.'), revise('Too short.'), said('Two.'), accept]);
    expect(played.trail).toEqual([DRAFT_1, REVIEW_1, DRAFT_2, REVIEW_2]);
    expect(promptOf(played.effects[2])).toContain('Too short.');
    expect(promptOf(played.effects[3])).toContain('Two.');
    expect(played.end).toMatchObject({ failure: null, plan: { text: 'Two.', accepted: true }, rounds: 2 });
  });

  test('that no round accepts is shown with what is open, and the run has failed', () => {
    const { end } = play(planFlow, facts(), [said('One.'), revise('No.'), said('Two.'), revise('Still no.')]);
    expect(end).toMatchObject({
      failure: {
        result: 'failed',
        reason: 'agent',
        why: 'the plan was not accepted after 2 rounds of review',
      },
      plan: { text: 'Two.', accepted: false },
      rounds: 2,
    });
    expect(end?.report).toMatch(/\*\*not accepted\*\* after 2 rounds[\s\S]*Two\.[\s\S]*Still no\./);
    expect(end?.report).not.toContain('No.\n');
  });

  test.each([
    ['no object', nonsense],
    ['no answer', turnFailed('no-answer')],
    ['another verdict', said('', { verdict: 'lgtm', comments: '' })],
    ['no comments', said('', { verdict: 'accept' })],
    ['a list', said('', [{ verdict: 'accept', comments: '' }])],
  ])('whose review gives %s is not accepted: asked once more, then failed', (_, first) => {
    const again = play(planFlow, facts(), [said('One.'), first, accept]);
    expect(again.trail).toEqual([DRAFT_1, REVIEW_1, 'review 1 reviewer goes on review']);
    expect(again.end).toMatchObject({ failure: null, plan: { accepted: true }, rounds: 1 });
    const { end } = play(planFlow, facts(), [said('One.'), first, first]);
    expect(end).toMatchObject({
      failure: {
        result: 'failed',
        reason: 'agent',
        why: 'review 1: the reviewer gave no verdict, asked twice',
      },
      plan: { text: 'One.', accepted: false },
      rounds: 0,
    });
  });

  test('may be asked for again in each round', () => {
    const { end } = play(planFlow, facts(), [said('1'), nonsense, revise('x'), said('2'), nonsense, accept]);
    expect(end).toMatchObject({ failure: null, rounds: 2 });
  });

  test('that is empty is none', () => {
    const { end } = play(planFlow, facts(), [said(' \n')]);
    expect(end).toMatchObject({ failure: { reason: 'agent' }, plan: null, rounds: 0 });
  });

  test('of any length leaves a report that is not too long', () => {
    const long = 'x'.repeat(200_000);
    for (const last of [accept, revise(long)]) {
      const { end } = play(planFlow, facts(), [said(long), revise(long), said(long), last]);
      expect(end?.report.length).toBeLessThanOrEqual(MOST_REPORT);
      expect(end?.plan?.text.length).toBeLessThanOrEqual(MOST_REPORT);
      expect(end?.plan?.text).toMatch(/more characters are left out\]$/);
    }
    const { end } = play(planFlow, facts(), [said(long), revise(long), said(long), revise('the point')]);
    expect(end?.report).toContain('the point');
  });

  test("cannot pass for vole's own mark", () => {
    const { end } = play(planFlow, facts(), [said('<!-- vole:run:1 -->'), accept]);
    expect(end?.report).not.toMatch(/<!--\s*vole:run/);
  });
});

describe('a turn that fails', () => {
  test.each([
    ['provider', { result: 'failed', reason: 'provider' }],
    ['timeout', { result: 'timed-out', reason: 'timeout' }],
    ['stopped', { result: 'cancelled', reason: 'cancelled' }],
    ['server', { result: 'failed', reason: 'agent' }],
  ] as const)('by %s ends the run as %o', (reason, failure) => {
    const inDraft = play(planFlow, facts(), [turnFailed(reason)]);
    expect(inDraft.end).toMatchObject({
      failure: { ...failure, why: 'draft 1: so it was' },
      plan: null,
      rounds: 0,
    });
    const inReview = play(planFlow, facts(), [said('One.'), turnFailed(reason)]);
    expect(inReview.end).toMatchObject({
      failure: { ...failure, why: 'review 1: so it was' },
      plan: { text: 'One.', accepted: false },
      rounds: 0,
    });
    expect(inReview.end?.report).toContain('One.');
  });

  test('in a later draft leaves the one before', () => {
    const { end } = play(planFlow, facts(), [said('One.'), revise('x'), turnFailed('provider')]);
    expect(end).toMatchObject({ plan: { text: 'One.', accepted: false }, rounds: 1 });
    expect(end?.report).toContain('One.');
  });

  test('by no answer to a draft is no plan', () => {
    const { end } = play(planFlow, facts(), [turnFailed('no-answer')]);
    expect(end?.failure).toMatchObject({ result: 'failed', reason: 'agent' });
  });
});

describe('a first look', () => {
  const models = { ...facts().options.models, explore: { model: 'e', variant: null } };
  const given = facts({}, { options: { ...facts().options, models } });

  test('is had where there is a model for it, and told to the author', () => {
    const { trail, effects } = play(planFlow, given, [said('It is in a.ts.'), said('Plan.'), accept]);
    expect(trail).toEqual(['explore explorer fresh explore', DRAFT_1, REVIEW_1]);
    expect(promptOf(effects[1])).toContain('It is in a.ts.');
  });

  test('that gives nothing costs the plan nothing, and one that fails does', () => {
    expect(play(planFlow, given, [turnFailed('no-answer')]).trail).toEqual([
      'explore explorer fresh explore',
      DRAFT_1,
    ]);
    expect(play(planFlow, given, [turnFailed('provider')]).end?.failure).toMatchObject({
      reason: 'provider',
      why: 'explore: so it was',
    });
  });

  test('is not had by a session that goes on', () => {
    const again = { ...given, spec: { ...given.spec, session } };
    const { trail } = play(planFlow, again, [{ type: 'resumed', found: true }]);
    expect(trail).toEqual(['resume', 'draft 1 author goes on plan']);
  });
});

describe('a follow-up', () => {
  test('goes on with the session, and tells it what is new', () => {
    const given = facts({ session, message: 'and test it' });
    const { trail, effects } = play(planFlow, given, [{ type: 'resumed', found: true }]);
    expect(trail).toEqual(['resume', 'draft 1 author goes on plan']);
    expect(effects[0]).toEqual({ type: 'resume', id: 's1' });
    expect(promptOf(effects[1])).toMatch(/planned this before[\s\S]*and test it/);
  });

  test('whose session is gone begins with all of it, the earlier plan too', () => {
    const given = facts({ session, plan: 'The old plan.' });
    const { trail, effects } = play(planFlow, given, [{ type: 'resumed', found: false }]);
    expect(trail).toEqual(['resume', DRAFT_1]);
    expect(promptOf(effects[1])).toContain('The old plan.');
  });

  test('whose session is in another store is not looked for here', () => {
    const given = facts({ session: { ...session, home: 'elsewhere' } });
    expect(play(planFlow, given, []).trail).toEqual([DRAFT_1]);
  });

  test("of another engine's session keeps it, and asks for a fresh command", () => {
    const foreign = { ...session, engine: 'other' };
    const { trail, end } = play(planFlow, facts({ session: foreign }), []);
    expect(trail).toEqual([]);
    expect(end).toMatchObject({ failure: { result: 'failed', reason: 'agent' }, keepsSession: true });
    expect(end?.report).toContain('`plan --fresh`');
    const fresh = facts({ session: foreign, message: '--fresh shorter' });
    const { effects } = play(planFlow, fresh, []);
    expect(promptOf(effects[0])).toContain('\nshorter\n');
    expect(promptOf(effects[0])).not.toContain('--fresh');
  });

  test('whose session cannot be reached fails', () => {
    const { end } = play(planFlow, facts({ session }), [turnFailed('server')]);
    expect(end).toMatchObject({ failure: { result: 'failed', reason: 'agent' }, keepsSession: true });
  });

  test('that is `--freshly` anything is a message', () => {
    const given = facts({ session, message: '--freshly' });
    expect(play(planFlow, given, []).trail).toEqual(['resume']);
  });
});

test('what the flow does not wait for is a fault', () => {
  expect(() => play(planFlow, facts(), [{ type: 'resumed', found: true }])).toThrow(/drafting.*resumed/);
});
