import type { ApiRunDetail } from '../../shared/api.ts';
import { age } from '../../shared/plain-text.ts';
import { formatDuration } from '../../shared/units.ts';
import { failureHint } from './failure-hints.ts';
import type { LastLines } from './last-lines.ts';
import { commitWords, decidingStep, placeWords, stepLines } from './run-facts.ts';

/** What somebody wants to know of a run that did not pass, below how it ended; nothing of it ends with a newline. */
export function failureReport(run: ApiRunDetail, last: LastLines, nowMs: number): string[] {
  const step = decidingStep(run);
  const place = placeWords(run, nowMs);
  const hint = hintOf(run, last);
  return [
    `  commit: ${commitWords(run)}`,
    ...(place === null ? [] : [`  host: ${place}`]),
    ...lostWords(run, last, nowMs),
    ...(run.steps.length === 0 ? [] : ['  steps:', ...stepLines(run.steps).map((line) => `    ${line}`)]),
    ...(last.lines.length === 0
      ? []
      : [`  the last lines of ${step === null ? 'its log' : `step ${step}`}:`]),
    ...last.lines.map((line) => `    | ${line}`.trimEnd()),
    ...(hint === null ? [] : [`  hint: ${hint}`]),
    ...(last.endMs === null ? [] : [`  its log: ${logCommands(run.id, step)}`]),
    ...(isRetryable(run) ? [`  run it again: \`vole retry ${run.id}\``] : []),
  ];
}

export function hintOf(run: ApiRunDetail, { lines }: LastLines): string | null {
  const step = decidingStep(run);
  return failureHint({
    reason: run.reason,
    step: step === null ? null : (run.steps[step - 1] ?? null),
    lines,
  });
}

/** When its runner was last heard is not kept; the end of its log is the last that is known of it. */
function lostWords(run: ApiRunDetail, { endMs }: LastLines, nowMs: number): string[] {
  if (run.state !== 'lost') return [];
  const given = run.endedAtMs === null ? '' : `given up ${age(run.endedAtMs, nowMs)}, `;
  const end =
    endMs === null ? 'nothing of its log came' : `its log ends ${formatDuration(endMs)} after its start`;
  return [`  lost: ${given}${end}`];
}

function logCommands(run: number, step: number | null): string {
  const whole = `\`vole logs ${run}\``;
  return step === null ? whole : `${whole}, of that step alone \`vole logs ${run} --step ${step}\``;
}

function isRetryable({ state }: Pick<ApiRunDetail, 'state'>): boolean {
  return state === 'failed' || state === 'timed-out' || state === 'lost';
}
