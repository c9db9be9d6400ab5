import type { TaskEnd } from '../store/control.ts';
import type { TaskResult } from './handler.ts';

const FIRST_MS = 1_000;
const LONGEST_MS = 10 * 60_000;
/** Some two hours of trying. */
export const MOST_ATTEMPTS = 20;

/** `random` is 0 to 1. Half of the time is fixed, the other by chance, so that what failed together comes apart. */
export function backoffMs(failures: number, random: number): number {
  const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
  return Math.round(most / 2 + (most / 2) * random);
}

/** What becomes of a task after an attempt. `attempts` failed before it. */
export function endOf(result: TaskResult, attempts: number, random: number): TaskEnd {
  switch (result.type) {
    case 'done':
      return { type: 'done', memory: result.memory };
    case 'impossible':
      return { type: 'dead', why: result.why };
    case 'failed': {
      const { why, retryAfterMs, asked } = result;
      if (!asked) {
        // Those who wait for the same moment come back one after the other.
        return {
          type: 'again',
          why,
          inMs: (retryAfterMs ?? 0) + Math.round(random * FIRST_MS),
          counts: false,
        };
      }
      if (attempts + 1 >= MOST_ATTEMPTS) return { type: 'dead', why };
      const inMs = Math.max(backoffMs(attempts + 1, random), retryAfterMs ?? 0);
      return { type: 'again', why, inMs, counts: true };
    }
    default:
      return result satisfies never;
  }
}
