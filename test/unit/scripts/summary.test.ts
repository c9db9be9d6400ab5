import { expect, it } from 'vitest';
import { summarize } from '../../../scripts/summary.mjs';

const report = (
  numbers: object,
  testResults: { name: string; status: string; assertionResults: { status: string }[] }[] = [],
) => ({
  numPassedTests: 10,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults,
  ...numbers,
});

it('counts tests, and says nothing of skipped ones where there are none', () => {
  expect(summarize(report({}), true, [])).toEqual({ line: '10 passed, 0 failed', ok: true, notes: [] });
  expect(summarize(report({ numPendingTests: 2, numTodoTests: 1 }), true, []).line).toBe(
    '10 passed, 0 failed, 3 skipped',
  );
  expect(summarize(report({ numFailedTests: 2 }), false, [])).toMatchObject({
    line: '10 passed, 2 failed',
    ok: false,
  });
});

it('counts each other check that failed', () => {
  expect(summarize(report({}), true, ['lint', 'docs'])).toEqual({
    line: '10 passed, 2 failed',
    ok: false,
    notes: ['failed check: lint', 'failed check: docs'],
  });
});

it('counts a test file that could not be loaded', () => {
  const files = [
    { name: 'a.test.ts', status: 'failed', assertionResults: [] },
    { name: 'b.test.ts', status: 'failed', assertionResults: [{ status: 'failed' }] },
  ];
  expect(summarize(report({ numFailedTests: 1 }, files), false, [])).toMatchObject({
    line: '10 passed, 2 failed',
    notes: ['failed test file: a.test.ts'],
  });
});

it('never says that nothing failed where the suite ended with an error, or did not say how it ended', () => {
  expect(summarize(report({}), false, [])).toMatchObject({ line: '10 passed, 1 failed', ok: false });
  expect(summarize(null, true, [])).toMatchObject({ line: '0 passed, 1 failed', ok: false });
  expect(summarize(report({ numPassedTests: 0 }), true, [])).toMatchObject({ ok: false });
});
