import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { HeldGuard } from '../../shared/lock/types.ts';
import type { RunnerDir } from './open-dir.ts';

const PREFIX = 'process-';
/** Behind the name while its process has not swept yet, and so has run no job. */
const STARTING = '\nstarting';

/**
 * How a runner process shows that it lives: it holds `locks/process-<n>` exclusively, with its name in
 * the file. A seat is used again by a later process, so lock files do not pile up; a name that stands
 * in no held seat is a dead process's. The lock goes with the process, so no pid is asked, which would
 * mean something else in another pid namespace.
 */
export class ProcessSeats {
  readonly #dir: Pick<RunnerDir, 'guards' | 'layout'>;

  constructor(dir: Pick<RunnerDir, 'guards' | 'layout'>) {
    this.#dir = dir;
  }

  /** Takes the first free seat. Before anything else carries the process's name. */
  take(process: string): HeldGuard {
    for (let seat = 0; ; seat++) {
      const guard = this.#dir.guards.try(`${PREFIX}${seat}`, 'exclusive');
      if (!guard) continue;
      writeFileSync(this.#file(`${PREFIX}${seat}`), `${process}${STARTING}`);
      return guard;
    }
  }

  /** From now on it may run jobs. Under the guard of the sweep, so that no other sweeps meanwhile. */
  started(process: string): void {
    for (const seat of this.#seats()) {
      // Cut off and not written anew: who reads it meanwhile must find the name.
      if (this.#nameIn(seat) === process) truncateSync(this.#file(seat), Buffer.byteLength(process));
    }
  }

  lives(process: string): boolean {
    return this.#seats().some((seat) => this.#nameIn(seat) === process && this.#isHeld(seat));
  }

  /**
   * Whether any other process lives that may have run a job on the directory. Those that only start wait
   * for their turn to sweep before they run any.
   */
  othersThan(process: string | null): boolean {
    return this.#seats().some(
      (seat) => this.#nameIn(seat) !== process && !this.#text(seat).endsWith(STARTING) && this.#isHeld(seat),
    );
  }

  #seats(): string[] {
    return readdirSync(this.#dir.layout.locks).filter((name) => /^process-\d+$/.test(name));
  }

  #nameIn(seat: string): string {
    return this.#text(seat).split('\n', 1)[0] ?? '';
  }

  #text(seat: string): string {
    try {
      return readFileSync(this.#file(seat), 'utf8');
    } catch {
      return '';
    }
  }

  #isHeld(seat: string): boolean {
    const guard = this.#dir.guards.try(seat, 'shared');
    guard?.release();
    return guard === null;
  }

  #file(seat: string): string {
    return path.join(this.#dir.layout.locks, seat);
  }
}
