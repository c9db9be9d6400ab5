import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { HeldGuard } from '../../src/shared/lock/types.ts';
import type { GuardMode } from '../../src/shared/worker-messages.ts';

const STALE_MS = 100;
let made = 0;

/** A lock that is wrong on purpose: holder files, which are taken to be left over when they are old. */
export class TimedGuards {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  try(name: string, mode: GuardMode): HeldGuard | null {
    mkdirSync(this.#dir, { recursive: true });
    const against = readdirSync(this.#dir).some((file) => {
      if (!file.startsWith(`${name}@`)) return false;
      if (mode === 'shared' && file.endsWith('.shared')) return false;
      const stat = statSync(path.join(this.#dir, file), { throwIfNoEntry: false });
      return stat !== undefined && Date.now() - stat.mtimeMs < STALE_MS;
    });
    if (against) return null;
    const mine = path.join(this.#dir, `${name}@${process.pid}-${made++}.${mode}`);
    writeFileSync(mine, '');
    return { name, mode, release: () => rmSync(mine, { force: true }) };
  }

  async shared(name: string): Promise<HeldGuard> {
    for (;;) {
      const guard = this.try(name, 'shared');
      if (guard) return guard;
      await delay(5);
    }
  }
}
