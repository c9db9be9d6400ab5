import { describe, expect, it } from 'vitest';
import { commentOfReply, commentOfRun, sameComment } from '../../../../src/server/control/wanted-comment.ts';
import { contextOf, statusOfFault, statusOfRun } from '../../../../src/server/control/wanted-status.ts';
import { RUN_STATES } from '../../../../src/shared/outcome.ts';
import { aRun } from '../../../support/web-parts.ts';

const asItIs = (text: string) => text;
const status = (change: Parameters<typeof aRun>[0]) =>
  statusOfRun(aRun({ id: 7, key: 'test', ...change }), 'https://ci', asItIs);

describe('the status of a run', () => {
  it('has a state of the forges for each of ours', () => {
    expect(RUN_STATES.map((state) => `${state} ${status({ state }).state}`)).toEqual([
      'received pending',
      'queued pending',
      'running pending',
      'passed success',
      'failed failure',
      'timed-out failure',
      'cancelled error',
      'refused error',
      'lost error',
    ]);
  });

  it('says how long it took, or why it failed, in one line that all forges show whole', () => {
    expect(status({ state: 'passed', startedAt: 0, endedAt: 12_400 }).description).toBe('passed in 12 s');
    expect(status({ state: 'passed', startedAt: 0, endedAt: 600_000 }).description).toBe('passed in 10 min');
    expect(status({ state: 'failed', detail: 'step 2:\n exit 1' }).description).toBe(
      'failed: step 2: exit 1',
    );
    const long = status({ state: 'failed', detail: 'x'.repeat(500) }).description;
    expect(long).toHaveLength(140);
    expect(long.endsWith('…')).toBe(true);
  });

  it('hides secrets before it is cut, so that no half of one stays', () => {
    const hide = (text: string) => text.replaceAll('secret-word', '***');
    const detail = `${'x'.repeat(125)} secret-word`;
    const run = aRun({ state: 'failed', detail });
    expect(statusOfRun(run, 'https://ci', hide).description).not.toContain('secret');
    expect(statusOfFault(detail, 1, 'https://ci', hide).description).not.toContain('secret');
  });

  it('has the context of its job', () => {
    expect([contextOf('test (20)'), contextOf('')]).toEqual(['vole/test (20)', 'vole']);
  });
});

describe('a comment', () => {
  const command = { issue: 3, comment: 5, author: 'alice', name: 'fix' };

  it('starts with its marker and links to the run', () => {
    const body = commentOfRun(aRun({ id: 7, state: 'queued' }), command, 'https://ci', asItIs);
    expect(body).toBe('<!-- vole:run:7 -->\n`fix` for `alice`: **queued** ([run 7](https://ci/runs/7))');
  });

  it('takes what others wrote as code alone', () => {
    const run = aRun({ state: 'failed', detail: '`--> @all\n# <img src=x>' });
    const last = commentOfRun(run, { ...command, author: '`@bob`' }, 'https://ci', asItIs).split('\n');
    expect(last.at(-1)).toBe("`'--> @all # <img src=x>`");
    expect(last[1]).toContain("for `'@bob'`:");
  });

  it('of an answer has a marker of its own', () => {
    expect(commentOfReply('77', 'no', asItIs)).toBe('<!-- vole:comment:77 -->\n`no`');
  });

  it('is the same though the forge has changed its line ends', () => {
    expect(sameComment('a\nb', 'a\r\nb\n')).toBe(true);
    expect(sameComment('a\nb', 'a b')).toBe(false);
  });
});
