import type { CliContext } from './context.ts';
import { LiveLines } from './run/live-lines.ts';

/** What is over by then needs no bar. */
const AFTER_MS = 2_000;
const REDRAW_MS = 100;
const CELLS = 24;

/** How far something is; `total` 0 where that is not known. `note` stands behind it. */
export interface Step {
  readonly what: string;
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

/**
 * A bar at the bottom of a terminal for work that takes longer than two seconds; nothing on a pipe, in a
 * file, for a program that reads JSON, or where the cursor cannot be moved. It is drawn from what `look`
 * gives, so that the work itself pays nothing for it.
 */
export class Progress {
  readonly #context: CliContext;
  readonly #live: LiveLines;
  readonly #isShown: boolean;
  readonly #look: () => Step | null;
  readonly #timer: NodeJS.Timeout | null;
  readonly #begun = performance.now();
  #drawn = 0;

  constructor(context: CliContext, json: boolean, look: () => Step | null) {
    this.#context = context;
    this.#isShown = context.interactive && !json && context.env['TERM'] !== 'dumb';
    this.#live = new LiveLines(
      (text) => context.stdout(text),
      this.#isShown,
      () => context.columns,
    );
    this.#look = look;
    this.#timer = this.#isShown ? setInterval(() => this.#draw(), REDRAW_MS) : null;
    this.#timer?.unref();
  }

  /** There is something new to be seen. Not needed for it, but the timer comes late where the event loop is kept. */
  moved(): void {
    if (this.#isShown && performance.now() - this.#drawn >= REDRAW_MS) this.#draw();
  }

  /** A line on standard error, which may be the same terminal. */
  warn(line: string): void {
    if (this.#isShown) this.#live.clear();
    this.#context.stderr(line);
  }

  /** Takes the bar away. Idempotent. */
  end(): void {
    if (this.#timer) clearInterval(this.#timer);
    if (this.#isShown) this.#live.clear();
  }

  #draw(): void {
    const now = performance.now();
    const step = now - this.#begun >= AFTER_MS ? this.#look() : null;
    if (!step) return;
    this.#drawn = now;
    this.#live.set([barOf(step)]);
  }
}

/** `measuring  [######----]  412 of 1000  34,512 files` */
export function barOf({ what, done, total, note }: Step): string {
  const filled = total > 0 ? Math.round((Math.min(done, total) / total) * CELLS) : 0;
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(CELLS - filled)}]`;
  return [what, ...(total > 0 ? [bar, `${done} of ${total}`] : []), note].filter(Boolean).join('  ');
}
