import { describe, expect, it } from 'vitest';
import { planRetry, type RetriedRun } from '../../../../src/server/store/plan-retry.ts';
import { RUN_STATES, type RunState } from '../../../../src/shared/outcome.ts';

const run = (id: number, state: RunState, change: Partial<RetriedRun> = {}): RetriedRun => ({
  id,
  job: `job${id}`,
  kind: 'job',
  state,
  needs: [],
  retriedAs: null,
  ...change,
});

/** 1 lint and 2 build passed; 3 and 4 are of one matrix and need 2; 5 needs both and 6 needs that. */
const RUNS = [
  run(1, 'failed'),
  run(2, 'passed'),
  run(3, 'failed', { needs: [2] }),
  run(4, 'cancelled', { needs: [2] }),
  run(5, 'cancelled', { needs: [3, 4] }),
  run(6, 'cancelled', { needs: [5, 2] }),
];

describe('what a retry executes', () => {
  it.each([
    ['one that nothing else has to do with, alone', [1], [1]],
    ['with what needs it, and what that needs beside it and did not pass', [3], [3, 4, 5, 6]],
    ['with what it needs itself', [6], [3, 4, 5, 6]],
    ['each once, in the order of their ids', [5, 1, 3, 3], [1, 3, 4, 5, 6]],
    ['all that did not pass where nothing else is asked for', null, [1, 3, 4, 5, 6]],
  ])('is %s', (_, asked, runs) => {
    expect(planRetry(9, RUNS, asked)).toEqual({ runs });
  });

  it('may need a run of another pipeline, which has passed', () => {
    expect(planRetry(9, [run(23, 'lost', { needs: [2] })], [23])).toEqual({ runs: [23] });
  });

  it('is a run in each final state but `passed`', () => {
    const retried = RUN_STATES.filter((state) => 'runs' in planRetry(9, [run(1, state)], [1]));
    expect(retried).toEqual(['failed', 'timed-out', 'cancelled', 'refused', 'lost']);
  });
});

describe('a retry is refused in one line', () => {
  it.each([
    ['of a run that passed', RUNS, [2], 'run 2 (job2) passed: `vole submit` runs a job anew'],
    [
      'of one that has not ended',
      [run(1, 'running')],
      [1],
      'run 1 (job1) has not ended, it is running: wait for it, or `vole cancel 1` before',
    ],
    [
      'of a pipeline with one that has not ended',
      [run(1, 'failed'), run(2, 'queued')],
      null,
      'run 2 (job2) has not ended, it is queued: wait for it, or `vole cancel 2` before',
    ],
    [
      'where what it needs has not ended',
      [run(1, 'running'), run(2, 'cancelled', { needs: [1] })],
      [2],
      'run 1 (job1), which is needed too, has not ended, it is running: wait for it, or `vole cancel 1` before',
    ],
    [
      'of a command',
      [run(1, 'failed', { kind: 'command' })],
      null,
      'run 1 (job1) is of a comment: comment the command again on its issue or pull request',
    ],
    [
      'where all passed',
      [run(1, 'passed')],
      null,
      'every run of pipeline 9 passed: `vole submit` runs its jobs anew',
    ],
    ['of a run of another pipeline', RUNS, [1, 77], 'run 77 is not of pipeline 9'],
    [
      'while a retry of a run that would go along has not ended',
      [run(1, 'failed'), run(2, 'cancelled', { needs: [1], retriedAs: 12 })],
      [1],
      'run 2 (job2) is being retried already, as run 12: wait for that, or `vole cancel 12` before',
    ],
  ])('%s', (_, runs, asked, refused) => {
    expect(planRetry(9, runs, asked)).toEqual({ refused });
  });
});
