import { readFileSync } from 'node:fs';

/**
 * Of one slot at its busiest: its connection, the FIFOs and pipes of a step, lock files, the log, and those of git.
 * Measured: 282 with 16 slots and 107 with four, whose jobs had checkouts and artifacts.
 */
const FILES_A_SLOT = 16;
const FILES_OF_A_PROCESS = 64;

/** With fewer open files than this, runs of a runner with so many slots fail for want of them. */
export function openFilesNeeded(jobs: number): number {
  return FILES_OF_A_PROCESS + FILES_A_SLOT * jobs;
}

/** With so many nothing is ever short: services and agents have files as well. */
export function openFilesAmple(jobs: number): number {
  return Math.max(1024, 256 + 24 * jobs);
}

/** How many files this process may have open; null where there is no limit or it cannot be told. Node.js raises its own to the hard one. */
export function openFilesLimit(): number | null {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
