import type { StepSpec } from '../../shared/job-spec.ts';

const MOST_LINES = 40;
const MOST_CHARACTERS = 400;

/**
 * What the log shows of a step's script before its output, so that whoever reads it needs no other file to know
 * what was executed. Nothing where the step's name is the whole script already.
 */
export function scriptLines(step: Pick<StepSpec, 'name' | 'run'>): string[] {
  const script = step.run.trimEnd();
  if (script.trim() === step.name) return [];
  const lines = script.split(/\r?\n/);
  const shown = lines.slice(0, lines.length > MOST_LINES ? MOST_LINES - 1 : MOST_LINES);
  const left = lines.length - shown.length;
  return [
    ...shown.map((line) => `  $ ${shortened(line)}`.trimEnd()),
    ...(left > 0 ? [`  ... and ${left} more lines`] : []),
  ];
}

/** By code points, so that no character is cut in two. */
function shortened(line: string): string {
  if (line.length <= MOST_CHARACTERS) return line;
  const points = Array.from(line.slice(0, 2 * MOST_CHARACTERS + 2));
  return points.length <= MOST_CHARACTERS ? line : `${points.slice(0, MOST_CHARACTERS).join('')}...`;
}
