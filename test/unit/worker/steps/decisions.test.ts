import { describe, expect, test } from 'vitest';
import { jobSpecSchema, type StepSpec } from '../../../../src/shared/job-spec.ts';
import type { StepOutcome } from '../../../../src/shared/outcome.ts';
import type { JobPaths } from '../../../../src/shared/worker-messages.ts';
import { decidingStep, shouldRun } from '../../../../src/worker/steps/run-steps.ts';
import { stepEnvironment } from '../../../../src/worker/steps/step-env.ts';
import { resultOfExit, skipped } from '../../../../src/worker/steps/step-result.ts';

describe('a step runs', () => {
  test.each([
    ['success', false, true],
    ['success', true, false],
    ['failure', false, false],
    ['failure', true, true],
    ['always', false, true],
    ['always', true, true],
  ] as const)('if: %s after a failure=%s -> %s, and never after a stop', (when, failed, runs) => {
    expect(shouldRun(when, failed, false)).toBe(runs);
    expect(shouldRun(when, failed, true)).toBe(false);
  });
});

describe('the step that decides', () => {
  const step = (continueOnError: boolean) => ({ continueOnError }) as StepSpec;
  const ended = (result: StepOutcome['result']): StepOutcome => ({ ...skipped('x'), result });

  test('is the first that failed without continue-on-error', () => {
    const steps = [step(false), step(true), step(false), step(false)];
    const outcomes = [ended('passed'), ended('failed'), ended('timed-out'), ended('failed')];
    expect(decidingStep(steps, outcomes)).toBe(2);
  });

  test('is none where all passed, were skipped or tolerated', () => {
    expect(decidingStep([step(false), step(true)], [ended('skipped'), ended('failed')])).toBeNull();
    expect(decidingStep([], [])).toBeNull();
  });
});

describe('how a step ended', () => {
  const exit = (exitCode: number) => ({ exitCode, signal: null }) as const;

  test.each([
    [exit(0), '', 'passed', null, ''],
    [exit(1), 'boom', 'failed', 'exit', 'exit code 1'],
    [exit(137), '', 'failed', 'exit', 'exit code 137'],
    [exit(127), 'x.sh: 1: nope: not found', 'failed', 'command-not-found', 'x.sh: 1: nope: not found'],
    [
      exit(127),
      '/d ir/jobs/5-1/step-2.sh: 3: a: not found',
      'failed',
      'command-not-found',
      'line 3: a: not found',
    ],
    [
      exit(126),
      '/d/step-1.sh: line 2: ./x: Permission denied',
      'failed',
      'not-executable',
      'line 2: ./x: Permission denied',
    ],
    [exit(127), 'something else', 'failed', 'exit', 'exit code 127'],
    [exit(126), './x: Permission denied', 'failed', 'not-executable', './x: Permission denied'],
    [exit(126), '', 'failed', 'exit', 'exit code 126'],
    [{ exitCode: null, signal: 'SIGSEGV' }, '', 'failed', 'signal', 'ended by SIGSEGV'],
  ] as const)('%o after "%s" is %s, %s', (ended, lastError, result, reason, detail) => {
    expect(resultOfExit(ended, null, lastError)).toMatchObject({ result, reason, detail });
  });

  test.each([
    ['cancelled', 'cancelled'],
    ['interrupted', 'cancelled'],
    ['timeout', 'timed-out'],
  ] as const)('when we ended it for %s it is %s, whatever its code', (reason, result) => {
    expect(resultOfExit(exit(0), { reason, why: 'w' }, '')).toMatchObject({
      result,
      reason,
      detail: 'w',
      exitCode: 0,
    });
  });
});

describe("a step's environment", () => {
  const spec = jobSpecSchema.parse({
    run: 7,
    attempt: 2,
    pipeline: 3,
    repository: 'team/app',
    trust: 'untrusted',
    job: 'test (20)',
    source: { url: 'u', ref: 'refs/heads/x', sha: 'a'.repeat(40) },
    env: { A: 'job', B: 'job', CI: 'no' },
    secrets: { S: 'secret', B: 'secret' },
    steps: [{ kind: 'run', name: 'n', run: 'r', env: { A: 'step', VOLE_JOB_MARKER: 'forged' } }],
    timeoutMs: 1,
  });
  const paths = { src: '/t/src', tmp: '/t/tmp', cache: '/c', home: '/h' } as JobPaths;
  const step = spec.steps[0] as StepSpec;
  const env = stepEnvironment(spec, step, paths, { PATH: '/bin', A: 'base' }, 'mark');

  test("is what is declared and the run's facts, and nothing else", () => {
    expect(env).toEqual({
      PATH: '/bin',
      HOME: '/h',
      TMPDIR: '/t/tmp',
      CI: 'no',
      VOLE_RUN: '7',
      VOLE_ATTEMPT: '2',
      VOLE_PIPELINE: '3',
      VOLE_REPOSITORY: 'team/app',
      VOLE_JOB: 'test (20)',
      VOLE_EVENT: 'manual',
      VOLE_TRUST: 'untrusted',
      VOLE_WORKSPACE: '/t/src',
      VOLE_CACHE: '/c',
      VOLE_REF: 'refs/heads/x',
      VOLE_SHA: 'a'.repeat(40),
      A: 'step',
      B: 'secret',
      S: 'secret',
      VOLE_JOB_MARKER: 'mark',
    });
  });
});
