import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import lockfile from 'proper-lockfile';
import type { HeldGuard } from '../../src/shared/lock/types.ts';

/**
 * What guards must not be: locks that a timer keeps and time takes away. The torture must find out, or it
 * proves nothing about the real ones. Shared ones are exclusive too, which only makes it safer.
 */
export class BrokenGuards {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  try(name: string): HeldGuard | null {
    mkdirSync(this.#dir, { recursive: true });
    const file = path.join(this.#dir, name);
    closeSync(openSync(file, 'a'));
    try {
      const release = lockfile.lockSync(file, {
        realpath: false,
        stale: 2_000,
        update: 1_000,
        onCompromised: () => {},
      });
      let held = true;
      return {
        name,
        mode: 'exclusive',
        release: () => {
          if (held) release();
          held = false;
        },
      };
    } catch {
      return null;
    }
  }

  shared(name: string): Promise<HeldGuard> {
    return this.exclusive(name);
  }

  async exclusive(name: string): Promise<HeldGuard> {
    for (;;) {
      const guard = this.try(name);
      if (guard) return guard;
      await delay(5);
    }
  }
}
