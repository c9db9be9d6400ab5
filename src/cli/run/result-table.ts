import type { RunState } from '../../shared/outcome.ts';
import { plain } from '../../shared/plain-text.ts';
import type { Paint } from './paint.ts';

export interface JobResult {
  readonly run: number;
  readonly job: string;
  readonly state: RunState;
  /** Null where it never started. */
  readonly durationMs: number | null;
  readonly detail: string;
}

const MARK: Partial<Record<RunState, string>> = { passed: '✓', failed: '✗', 'timed-out': '✗', lost: '✗' };

/** A table for people: job, result, time, and why where it did not pass. */
export function resultTable(results: readonly JobResult[], paint: Paint): string {
  const rows = results.map((result) => [
    `${MARK[result.state] ?? '-'} ${plain(result.job)}`,
    result.state,
    result.durationMs === null ? '' : seconds(result.durationMs),
    plain(result.detail),
  ]);
  const all = [['  job', 'result', 'time', ''], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return lines
    .map((line, at) => `${paint(at === 0 ? 'dim' : colourOf(results[at - 1]?.state), line)}\n`)
    .join('');
}

function colourOf(state: RunState | undefined): 'green' | 'red' | 'yellow' {
  if (state === 'passed') return 'green';
  return state !== undefined && MARK[state] ? 'red' : 'yellow';
}

export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}
