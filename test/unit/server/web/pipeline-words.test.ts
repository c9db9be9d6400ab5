import { describe, expect, it } from 'vitest';
import {
  firstLine,
  type PipelineState,
  shownState,
  wordsOf,
} from '../../../../src/server/web/pipeline-words.ts';

describe('the state of a pipeline', () => {
  it.each<[PipelineState['states'], string, string]>([
    [{ passed: 4 }, '4 of 4 passed', 'passed'],
    [{ passed: 3, failed: 1 }, '3 of 4 passed, 1 failed', 'failed'],
    [{ cancelled: 2 }, '0 of 2 passed, 2 cancelled', 'cancelled'],
    [{ passed: 1, queued: 2, running: 1 }, '1 of 4 passed, 2 queued, 1 running', 'running'],
    [{ queued: 1, failed: 1 }, '0 of 2 passed, 1 queued, 1 failed', 'queued'],
    [{ lost: 1, 'timed-out': 1 }, '0 of 2 passed, 1 timed-out, 1 lost', 'timed-out'],
    [{ received: 1 }, '0 of 1 passed, 1 received', 'received'],
  ])('of %j is said as "%s"', (states, words, shown) => {
    expect([wordsOf({ fault: null, states }), shownState({ fault: null, states })]).toEqual([words, shown]);
  });

  it('of a workflow file with a fault is the first line of it', () => {
    const faulty = { fault: '.vole.yml:3:5: no such key\n.vole.yml:9:1: more', states: {} };
    expect([wordsOf(faulty), shownState(faulty)]).toEqual(['fault: .vole.yml:3:5: no such key', 'failed']);
  });
});

it('a first line is bounded and has nothing that steers a terminal', () => {
  expect(firstLine(`\u001b[31m${'x'.repeat(500)}`)).toBe(`${'x'.repeat(199)}…`);
});
