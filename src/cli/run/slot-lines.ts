import { plain } from '../../shared/plain-text.ts';
import { seconds } from './result-table.ts';

export interface BusySlot {
  readonly slot: number;
  readonly run: number;
  readonly job: string;
}

/** The lines at the bottom of a terminal: what each slot runs, how long, and the line printed last. */
export class SlotLines {
  readonly #slots: number;
  readonly #since = new Map<number, number>();
  #last = '';

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Remembers the last line of what was printed. */
  printed(text: string): void {
    this.#last = text.trimEnd().split('\n').at(-1) ?? '';
  }

  lines(busy: readonly BusySlot[], nowMs: number): string[] {
    const bySlot = new Map(busy.map((slot) => [slot.slot, slot]));
    const width = Math.max(4, ...busy.map((slot) => slot.job.length));
    return Array.from({ length: this.#slots }, (_, slot) => {
      const view = bySlot.get(slot);
      if (!view) return `slot ${slot}  idle`;
      const since = this.#since.get(view.run) ?? nowMs;
      this.#since.set(view.run, since);
      const last = this.#last.startsWith(view.job)
        ? this.#last.slice(view.job.length).replace(/^[ |]+/, '')
        : '';
      return `slot ${slot}  ${plain(view.job).padEnd(width)}  ${seconds(nowMs - since).padStart(6)}  ${last}`.trimEnd();
    });
  }
}
