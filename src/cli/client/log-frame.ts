import { type ApiRunDetail, runDetailSchema } from '../../shared/api.ts';
import { isFinal } from '../../shared/outcome.ts';
import { plain } from '../../shared/plain-text.ts';
import { formatDuration } from '../../shared/units.ts';
import type { CliContext } from '../context.ts';
import { paintFor } from '../run/paint.ts';
import type { ApiClient } from './api-client.ts';
import { commitWords, placeWords, stepLines, tookMs } from './run-facts.ts';

/** Says around a log what it is of, and how that ended. */
export interface Frame {
  /** Null is the latest attempt. */
  above(attempt: number | null): Promise<void>;
  below(run: ApiRunDetail): void;
}

/** For people alone, on standard error: null where neither it nor standard output is a terminal. */
export function frameFor(client: ApiClient, id: number, context: CliContext): Frame | null {
  const { interactive, stderrInteractive, env } = context;
  if (!interactive && !stderrInteractive) return null;
  const paint = paintFor({ env, interactive: stderrInteractive });
  const say = (lines: readonly string[]): void =>
    context.stderr(lines.map((line) => `${paint('dim', line)}\n`).join(''));
  return {
    above: async (attempt) => {
      const run = await client.get(`/api/runs/${id}`, runDetailSchema);
      say(logHeader(run, attempt ?? run.attempt, Date.now()));
    },
    below: (run) => say(logFooter(run, Date.now())),
  };
}

/** What stands above the log of one attempt. Of one before the latest it is not known where it was. */
export function logHeader(run: ApiRunDetail, attempt: number, nowMs: number): string[] {
  const isLatest = attempt === run.attempt;
  const place = isLatest ? placeWords(run, nowMs) : `attempt ${attempt} of ${run.attempt}`;
  return [
    `run ${run.id}: ${run.job} of ${run.repository}, ${commitWords(run)}`,
    ...(place === null ? [] : [place]),
  ].map(plain);
}

/** What stands below the log of the latest attempt: each step and its time, and how the run ended. */
export function logFooter(run: ApiRunDetail, nowMs: number): string[] {
  const took = tookMs(run, nowMs);
  const time = took === null ? '' : formatDuration(took);
  if (!isFinal(run.state)) {
    const soFar = run.state === 'running' ? `, ${time} so far` : '';
    return [`run ${run.id} is ${run.state}${soFar}; \`vole logs ${run.id} -f\` follows it`];
  }
  const after = time === '' ? '' : ` after ${time}`;
  const why = run.detail === '' ? '' : `: ${run.detail}`;
  const more = run.state === 'passed' ? '' : `; \`vole why ${run.id}\` says more`;
  return [...stepLines(run.steps), plain(`run ${run.id} ${run.state}${after}${why}${more}`)];
}
