import type { RunState } from '../../shared/outcome.ts';
import { plain } from '../../shared/plain-text.ts';
import { stateColour } from '../client/state-colour.ts';
import { columns } from '../client/table.ts';
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
  return columns(all)
    .map((line, at) => {
      const result = results[at - 1];
      return `${paint(result === undefined ? 'dim' : stateColour(result.state), line)}\n`;
    })
    .join('');
}

export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}
