import type { StepOutcome } from '../../shared/outcome.ts';
import type { RunLog } from '../log/run-log.ts';
import type { FlowFailure } from './flows/flow.ts';

/** The parts of an agent run as steps of its outcome, so that pages and logs say where the time went. */
export class Phases {
  readonly steps: StepOutcome[] = [];
  readonly #log: RunLog;

  constructor(log: RunLog) {
    this.#log = log;
  }

  /** `work` is told the number of its step, for its lines in the log. */
  async during<T>(name: string, work: (number: number) => Promise<T>): Promise<T> {
    const number = this.steps.length + 1;
    const step: StepOutcome = {
      name,
      result: 'passed',
      exitCode: null,
      signal: null,
      reason: null,
      detail: '',
      durationMs: 0,
    };
    this.steps.push(step);
    this.#log.say(number, `step ${number}: ${name}`);
    const start = performance.now();
    try {
      return await work(number);
    } finally {
      step.durationMs = Math.round(performance.now() - start);
    }
  }

  /** The run has failed of the last part, whose name need not be said twice. */
  fail({ result, reason, why }: FlowFailure): void {
    const step = this.steps.at(-1);
    if (!step) return;
    const prefix = `${step.name}: `;
    const detail = why.startsWith(prefix) ? why.slice(prefix.length) : why;
    Object.assign(step, { result, reason, detail });
  }
}
