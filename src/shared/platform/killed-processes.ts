import { type ProcessStat, sameProcessAlive, signalProcess } from './processes.ts';

/**
 * Processes that were sent KILL. One that is being killed shows no environment, command line or folder
 * from when its memory goes, which takes a large one many milliseconds: a search finds it no more, and
 * it still lives. So those that were found are waited for by their pids.
 */
export class KilledProcesses {
  readonly #starts = new Map<number, string>();
  readonly #signal: typeof signalProcess;

  constructor(signal = signalProcess) {
    this.#signal = signal;
  }

  kill({ pid, start }: Pick<ProcessStat, 'pid' | 'start'>): void {
    this.#signal(pid, 'SIGKILL');
    this.#starts.set(pid, start);
  }

  get anyAlive(): boolean {
    return [...this.#starts].some(([pid, start]) => sameProcessAlive(pid, start));
  }
}
