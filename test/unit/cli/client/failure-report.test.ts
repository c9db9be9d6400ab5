import { describe, expect, it } from 'vitest';
import { failureReport } from '../../../../src/cli/client/failure-report.ts';
import { decidingStep } from '../../../../src/cli/client/run-facts.ts';
import { runDetailView } from '../../../../src/server/web/views.ts';
import type { StepOutcome } from '../../../../src/shared/outcome.ts';
import { aRun } from '../../../support/web-parts.ts';

const step = (change: Partial<StepOutcome>): StepOutcome => ({
  name: 'a step',
  result: 'passed',
  exitCode: 0,
  signal: null,
  reason: null,
  detail: '',
  durationMs: 1_500,
  ...change,
});
const failed = { result: 'failed', exitCode: 137, reason: 'exit', detail: 'exit code 137' } as const;
const detail = (change: Parameters<typeof aRun>[0]) =>
  runDetailView(aRun({ endedAt: 65_000, ...change }), [], null);

describe('the report of a run that did not pass', () => {
  it('has commit, host, steps, last lines, a hint, where the log is, and what to do next', () => {
    const run = detail({
      id: 4,
      state: 'failed',
      reason: 'exit',
      detail: 'step 2 (npm test): exit code 137',
      steps: [
        step({ name: 'npm ci' }),
        step({ ...failed, name: 'npm test', durationMs: 61_000 }),
        step({ name: 'upload', result: 'skipped', durationMs: 0 }),
      ],
    });
    expect(failureReport(run, { lines: ['one', '', 'Killed'], endMs: 62_000 }, 125_000)).toEqual([
      '  commit: main aaaaaaaa',
      '  host: host1, attempt 1, started 2 min ago, took 1 min 3 s',
      '  steps:',
      '    ✓ 1 npm ci    passed   1.5 s',
      '    ✗ 2 npm test  failed   1 min 1 s  exit code 137',
      '    - 3 upload    skipped',
      '  the last lines of step 2:',
      '    | one',
      '    |',
      '    | Killed',
      expect.stringMatching(/^ {2}hint: a process was killed/),
      '  its log: `vole logs 4`, of that step alone `vole logs 4 --step 2`',
      '  run it again: `vole retry 4`',
    ]);
  });

  it('of a lost one says what was last known of it', () => {
    const run = detail({ id: 4, state: 'lost', reason: 'lost', detail: 'silent', attempt: 3 });
    const lines = failureReport(run, { lines: ['at work'], endMs: 12_000 }, 125_000);
    expect(lines).toContain('  host: host1, attempt 3, started 2 min ago, took 1 min 3 s');
    expect(lines).toContain('  lost: given up 1 min ago, its log ends 12 s after its start');
    expect(lines).toContain('  the last lines of its log:');
    expect(lines).toContain('  run it again: `vole retry 4`');
  });

  it('offers no retry of one that somebody cancelled', () => {
    const run = detail({ state: 'cancelled', reason: 'cancelled', detail: 'enough' });
    expect(failureReport(run, { lines: [], endMs: null }, 125_000).join('\n')).not.toMatch(/retry|log/);
  });
});

describe('the step that decided', () => {
  it('is the one that the outcome names, not one over which the job went on', () => {
    const steps = [step(failed), step(failed)];
    expect(decidingStep({ state: 'failed', detail: 'step 2 (b): exit code 137', steps })).toBe(2);
    expect(decidingStep({ state: 'passed', detail: '', steps })).toBeNull();
  });

  it('is the one that was being executed when the run was stopped', () => {
    const steps = [
      step(failed),
      step({ result: 'timed-out', reason: 'timeout' }),
      step({ result: 'skipped' }),
    ];
    expect(decidingStep({ state: 'timed-out', detail: 'the job is over its 5 minutes', steps })).toBe(2);
  });

  it('is none where it was the checkout or an artifact', () => {
    const at = { state: 'failed', detail: 'checkout: no such commit' } as const;
    expect(decidingStep({ ...at, steps: [] })).toBeNull();
    expect(decidingStep({ ...at, steps: [step({})] })).toBeNull();
  });
});
