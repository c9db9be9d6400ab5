import type { ApiRun, ApiRunDetail } from '../../shared/api.ts';
import { isFinal } from '../../shared/outcome.ts';
import { age, shortRef } from '../../shared/plain-text.ts';
import { formatDuration } from '../../shared/units.ts';
import { columns, cut } from './table.ts';

const STEP_NAME_LIMIT = 60;
const MARK = { passed: '✓', failed: '✗', 'timed-out': '✗', cancelled: '✗', skipped: '-' } as const;

/** The step that decided how the run ended, from 1; null where it was none, or is not known. */
export function decidingStep(run: Pick<ApiRunDetail, 'state' | 'detail' | 'steps'>): number | null {
  if (!isFinal(run.state) || run.state === 'passed') return null;
  // Others may have failed too, where the job goes on over them.
  const named = Number(/^step (\d+) \(/.exec(run.detail)?.[1] ?? 0);
  if (named > 0 && named <= run.steps.length) return named;
  // Of one that was stopped as a whole it is the step that was being executed.
  const stopped = run.steps.findLastIndex(({ result }) => result === 'timed-out' || result === 'cancelled');
  return stopped < 0 ? null : stopped + 1;
}

/** A line a step: its number, name, result, time, and why where it did not pass. */
export function stepLines(steps: ApiRunDetail['steps']): string[] {
  return columns(
    steps.map((step, at) => [
      `${MARK[step.result]} ${String(at + 1).padStart(String(steps.length).length)} ${cut(step.name, STEP_NAME_LIMIT)}`,
      step.result,
      step.result === 'skipped' ? '' : formatDuration(step.durationMs),
      step.detail,
    ]),
  );
}

/** `main 1a2b3c4d` */
export function commitWords({ ref, sha }: Pick<ApiRun, 'ref' | 'sha'>): string {
  return ref === sha ? sha.slice(0, 8) : `${shortRef(ref)} ${sha.slice(0, 8)}`;
}

/** How long the latest attempt took, or has taken so far; null where it did not begin. */
export function tookMs(run: Pick<ApiRun, 'startedAtMs' | 'endedAtMs'>, nowMs: number): number | null {
  return run.startedAtMs === null ? null : Math.max(0, (run.endedAtMs ?? nowMs) - run.startedAtMs);
}

/** `build1, attempt 2, started 5 min ago, took 1 min 3 s`; null of a run that has never begun. */
export function placeWords(run: ApiRun, nowMs: number): string | null {
  const took = tookMs(run, nowMs);
  if (run.attempt === 0 || run.startedAtMs === null || took === null) return null;
  return [
    run.machine ?? 'a runner',
    `attempt ${run.attempt}`,
    `started ${age(run.startedAtMs, nowMs)}`,
    ...(run.endedAtMs === null ? [] : [`took ${formatDuration(took)}`]),
  ].join(', ');
}
