/**
 * The numbers of a whole check, from Vitest's JSON report (null where there is none). A test file
 * that could not be loaded has no tests, so it counts as a failure itself, and so does each other
 * check that failed: the line says `0 failed` only where everything passed.
 */
export function summarize(report, testsPassed, failedChecks) {
  const notes = failedChecks.map((name) => `failed check: ${name}`);
  const passed = report?.numPassedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  let failed = (report?.numFailedTests ?? 0) + failedChecks.length;
  for (const file of report?.testResults ?? []) {
    const hasFailedTest = file.assertionResults.some(({ status }) => status === 'failed');
    if (file.status !== 'failed' || hasFailedTest) continue;
    failed += 1;
    notes.push(`failed test file: ${file.name}`);
  }
  const untold = !testsPassed && failed === failedChecks.length;
  if (untold || passed === 0) {
    failed += 1;
    notes.push(report ? 'the tests ended with an error outside of any test' : 'the tests gave no report');
  }
  const parts = [`${passed} passed`, `${failed} failed`, ...(skipped > 0 ? [`${skipped} skipped`] : [])];
  return { line: parts.join(', '), ok: failed === 0, notes };
}
