import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { HeldGuard } from '../../shared/lock/types.ts';
import type { RunnerDir } from './open-dir.ts';

const PREFIX = 'process-';

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
      writeFileSync(this.#file(`${PREFIX}${seat}`), process);
      return guard;
    }
  }

  lives(process: string): boolean {
    return this.#seats().some((seat) => this.#nameIn(seat) === process && this.#isHeld(seat));
  }

  /** Whether any other runner process than this one lives on the directory. */
  othersThan(process: string): boolean {
    return this.#seats().some((seat) => this.#nameIn(seat) !== process && this.#isHeld(seat));
  }

  #seats(): string[] {
    return readdirSync(this.#dir.layout.locks).filter((name) => /^process-\d+$/.test(name));
  }

  #nameIn(seat: string): string {
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
