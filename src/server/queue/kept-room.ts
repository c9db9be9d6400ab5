/** A runner process, by what the ids of its sessions have in common, that takes no run which came after this one. */
export interface Kept {
  readonly run: number;
  readonly process: string;
}

/** Longer than a slot takes from one request to the next. */
const BETWEEN_MS = 5_000;

/**
 * Which runner processes keep room for which runs: else small jobs, which fit into what each other leaves,
 * would keep a large one waiting for ever. At most one run a process and one process a run. In memory: what
 * waits too long is found again by the next claim.
 */
export class KeptRoom {
  readonly #now: () => number;
  readonly #isAsking: (process: string) => boolean;
  readonly #byProcess = new Map<string, { run: number; askedAt: number }>();

  /** `isAsking`: whether a request of the process waits. */
  constructor(now: () => number, isAsking: (process: string) => boolean) {
    this.#now = now;
    this.#isAsking = isAsking;
  }

  /** The run that the process keeps room for; null for none. */
  keptBy(process: string): number | null {
    return this.#byProcess.get(process)?.run ?? null;
  }

  /** The same, where the process asks for a run now. */
  asked(process: string): number | null {
    const kept = this.#byProcess.get(process);
    if (kept) kept.askedAt = this.#now();
    return kept?.run ?? null;
  }

  /**
   * `starved`: runs that the process could take if more of it were free, and that wait too long, the earliest
   * first. Keeps room for the first of them that has none, and gives it up for all others.
   */
  keep(process: string, starved: readonly number[]): number | null {
    this.#byProcess.delete(process);
    const run = starved.find((candidate) => !this.#isKept(candidate));
    if (run === undefined) return null;
    this.drop(run);
    this.#byProcess.set(process, { run, askedAt: this.#now() });
    return run;
  }

  /** It is leased, has ended, or waits for something else. Whether room was kept for it. */
  drop(run: number): boolean {
    for (const [process, kept] of this.#byProcess) {
      if (kept.run === run) return this.#byProcess.delete(process);
    }
    return false;
  }

  list(): Kept[] {
    const kept = [...this.#byProcess].map(([process, { run }]) => ({ run, process }));
    return kept.filter(({ run }) => this.#isKept(run));
  }

  /** A process that asks for nothing has no idle slot, takes no more runs or is gone: another may keep room instead. */
  #isKept(run: number): boolean {
    for (const [process, kept] of this.#byProcess) {
      if (kept.run === run) return this.#isAsking(process) || this.#now() - kept.askedAt <= BETWEEN_MS;
    }
    return false;
  }
}
