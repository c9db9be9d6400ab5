import { isFinal, RUN_STATES, type RunState } from '../../shared/outcome.ts';
import { plain } from '../../shared/plain-text.ts';

/** Of a pipeline its fault and how many of its runs are in which state. */
export interface PipelineState {
  readonly fault: string | null;
  readonly states: Readonly<Partial<Record<RunState, number>>>;
}

/** `3 of 4 passed, 1 failed`, or `fault: ` with the first line of it. */
export function wordsOf({ fault, states }: PipelineState): string {
  if (fault !== null) return `fault: ${firstLine(fault)}`;
  const present = RUN_STATES.filter((state) => (states[state] ?? 0) > 0);
  const total = present.reduce((sum, state) => sum + (states[state] ?? 0), 0);
  const others = present.filter((state) => state !== 'passed').map((state) => `${states[state]} ${state}`);
  return [`${states.passed ?? 0} of ${total} passed`, ...others].join(', ');
}

/** Which state of a run it is shown as: one that goes on, else how it ended. */
export function shownState({ fault, states }: PipelineState): RunState {
  const has = (state: RunState) => (states[state] ?? 0) > 0;
  if (fault !== null) return 'failed';
  const ended = RUN_STATES.filter((state) => isFinal(state) && state !== 'passed');
  const order: readonly RunState[] = ['running', 'queued', 'received', ...ended];
  return order.find(has) ?? 'passed';
}

const LINE_LENGTH = 200;

export function firstLine(text: string): string {
  const line = plain(text.split('\n', 1)[0] ?? '');
  return line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH - 1)}…` : line;
}
