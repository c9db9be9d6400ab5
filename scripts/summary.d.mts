/** The part of Vitest's JSON report that is read. */
export interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

export function summarize(
  report: TestReport | null,
  testsPassed: boolean,
  failedChecks: readonly string[],
): { line: string; ok: boolean; notes: string[] };
