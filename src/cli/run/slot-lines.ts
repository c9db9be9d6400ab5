import { plain } from '../../shared/plain-text.ts';
import type { Paint } from './paint.ts';
import { seconds } from './result-table.ts';

export interface BusySlot {
  readonly slot: number;
  readonly run: number;
  readonly job: string;
}

/** More would leave a small window no room for what the jobs say. */
const MOST_LINES = 10;

/** The lines at the bottom of a terminal: what each slot runs, how long, and the line it printed last. */
export class SlotLines {
  readonly #slots: number;
  readonly #paint: Paint;
  readonly #since = new Map<number, number>();
  readonly #last = new Map<string, string>();

  constructor(slots: number, paint: Paint) {
    this.#slots = slots;
    this.#paint = paint;
  }

  /** Remembers the last line of each job in what was printed, and gives it with the names dimmed and each colour ended. */
  printed(text: string): string {
    return text.replace(/^(.*?) \| (.*)$/gm, (_, name: string, line: string) => {
      if (line.trim() !== '') this.#last.set(name.trimEnd(), plain(line));
      const reset = line.includes('\u001b') ? '\u001b[0m' : '';
      return `${this.#paint('dim', `${name} |`)} ${line}${reset}`;
    });
  }

  /** `free`: what a slot does that runs nothing. */
  lines(busy: readonly BusySlot[], nowMs: number, free: 'starting' | 'idle' = 'idle'): string[] {
    const bySlot = new Map(busy.map((view) => [view.slot, view]));
    const width = Math.max(4, ...busy.map((view) => plain(view.job).length));
    const shown = Array.from({ length: this.#slots }, (_, slot) => slot)
      .filter((slot) => this.#slots <= MOST_LINES || bySlot.has(slot))
      .slice(0, MOST_LINES);
    const lines = shown.map((slot) => this.#line(slot, bySlot.get(slot) ?? free, width, nowMs));
    const hidden = this.#slots - shown.length;
    return hidden > 0
      ? [...lines, `${hidden} more ${hidden === 1 ? 'slot' : 'slots'}, ${busy.length} of ${this.#slots} busy`]
      : lines;
  }

  #line(slot: number, view: BusySlot | string, width: number, nowMs: number): string {
    const name = `slot ${String(slot + 1).padEnd(String(this.#slots).length)}`;
    if (typeof view === 'string') return `${name}  ${view}`;
    const since = this.#since.get(view.run) ?? nowMs;
    this.#since.set(view.run, since);
    const job = plain(view.job);
    // long names are cut in the prefix
    const last = this.#last.get(job) ?? this.#last.get(job.slice(0, 30)) ?? '';
    const time = seconds(nowMs - since).padStart(6);
    return `${name}  ${job.padEnd(width)}  ${time}  ${last}`.trimEnd();
  }
}
