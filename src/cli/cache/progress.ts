import type { CliContext } from '../context.ts';

const WIDTH = 24;

export interface ProgressLine {
  show(what: string, done: number, of: number): void;
  /** Takes the line away. Idempotent. */
  clear(): void;
}

/** A bar that is drawn over itself; nothing where standard output is no terminal. */
export function progressLine(context: Pick<CliContext, 'interactive' | 'stderr'>): ProgressLine {
  let drawn = '';
  return {
    show: (what, done, of) => {
      if (!context.interactive) return;
      const bar = progressBar(what, done, of);
      if (bar !== drawn) context.stderr(`\r\u001b[K${bar}`);
      drawn = bar;
    },
    clear: () => {
      if (drawn !== '') context.stderr('\r\u001b[K');
      drawn = '';
    },
  };
}

export function progressBar(what: string, done: number, of: number): string {
  const share = of === 0 ? 1 : Math.min(1, done / of);
  const full = Math.round(share * WIDTH);
  return `${what} [${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${done}/${of}`;
}
