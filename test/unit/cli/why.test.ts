import { expect, it } from 'vitest';
import { whyLines } from '../../../src/cli/why.ts';
import { runDetailView } from '../../../src/server/web/views.ts';
import { aRun } from '../../support/web-parts.ts';

it('why says what a run waits for, where it runs, or how it ended', () => {
  const reasons = [
    { code: 'cap', text: 'team/app has 2 of 2 runs' },
    { code: 'no-runner', text: 'no runner' },
  ] as const;
  const queued = runDetailView(aRun({ state: 'queued' }), [], { run: 1, state: 'queued', reasons, place: 3 });
  expect(whyLines(queued)).toEqual([
    'run 1 (test of team/app) is queued',
    '  team/app has 2 of 2 runs',
    '  no runner',
    '  place 3 among the runs that could be leased',
  ]);
  const running = aRun({ cancelWhy: 'enough' });
  expect(whyLines(runDetailView(running, [], null))).toEqual([
    'run 1 (test of team/app) is running on host1, attempt 1; it is being cancelled: enough',
  ]);
  const failed = aRun({ state: 'failed', reason: 'exit', detail: 'step 1 ended with 2' });
  expect(whyLines(runDetailView(failed, [], null))).toEqual([
    'run 1 (test of team/app) is failed (exit): step 1 ended with 2',
  ]);
});
