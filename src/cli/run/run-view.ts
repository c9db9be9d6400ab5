import type { LogRecord } from '../../shared/log-record.ts';
import { type LiveLines, printable } from './live-lines.ts';
import { seconds } from './result-table.ts';

export interface SlotView {
  readonly slot: number;
  readonly run: number;
  readonly job: string;
}

/**
 * What `vole run` shows while it runs: each line of each job with the job's name before it, and on a
 * terminal a line a slot at the bottom: the job, how long, and what it said last.
 */
export class RunView {
  readonly #lines: LiveLines;
  readonly #slots: number;
  readonly #jobs: ReadonlyMap<number, string>;
  readonly #width: number;
  readonly #started = new Map<number, number>();
  readonly #last = new Map<number, string>();

  constructor(lines: LiveLines, slots: number, jobs: ReadonlyMap<number, string>) {
    this.#lines = lines;
    this.#slots = slots;
    this.#jobs = jobs;
    this.#width = Math.max(0, ...[...jobs.values()].map((job) => job.length));
  }

  record(run: number, record: LogRecord): void {
    const text = printable(record.text);
    if (text.trim()) this.#last.set(run, text.trim());
    const mark = record.stream === 'v' ? '·' : record.stream === 'e' ? '!' : '|';
    this.#lines.print(`${(this.#jobs.get(run) ?? String(run)).padEnd(this.#width)} ${mark} ${text}\n`);
  }

  note(text: string): void {
    this.#lines.print(`${text}\n`);
  }

  /** Draws the slots anew. */
  tick(running: readonly SlotView[], nowMs: number): void {
    const bySlot = new Map(running.map((view) => [view.slot, view]));
    const lines = Array.from({ length: this.#slots }, (_, slot) => {
      const view = bySlot.get(slot);
      if (!view) return `slot ${slot}  idle`;
      const since = this.#started.get(view.run) ?? nowMs;
      this.#started.set(view.run, since);
      const last = this.#last.get(view.run) ?? '';
      return `slot ${slot}  ${view.job.padEnd(this.#width)}  ${seconds(nowMs - since).padStart(6)}  ${last}`;
    });
    this.#lines.set(lines);
  }

  end(): void {
    this.#lines.clear();
  }
}
