import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Guards } from '../../src/shared/lock/guard.ts';
import { storm, stormUntilFoundOut } from '../support/cache-storm.ts';
import { Random } from '../support/random.ts';
import { Cleanup } from '../support/temp.ts';
import { withinASecond } from '../support/within-a-second.ts';

/** Longer by hand: VOLE_TORTURE_SECONDS=300. */
const SECONDS = Number(process.env['VOLE_TORTURE_SECONDS'] ?? 6);
const SEED = Number(process.env['VOLE_TORTURE_SEED'] ?? Date.now() % 1_000_000);

/** Where there is time, longer than a chore's holder may be silent. */
const MOST_STOPPED_MS = SECONDS >= 60 ? 15_000 : 1_500;

let cleanup: Cleanup;
let dir: string;
beforeEach(() => {
  cleanup = new Cleanup();
  dir = cleanup.tempDir('vole-storm-');
});
afterEach(() => cleanup.run());

describe(`five processes with a thread each and trimmers with a limit of one byte, seed ${SEED}`, () => {
  it.each([{ pidNamespaces: false }, { pidNamespaces: true }])(
    'lose nothing that is held while they are killed and stopped (%o)',
    async ({ pidNamespaces }) => {
      const result = await storm({
        dir,
        ms: SECONDS * 1_000,
        processes: 5,
        guards: 'real',
        pidNamespaces,
        stopMs: { least: 0, most: MOST_STOPPED_MS },
        random: new Random(SEED),
      });
      expect(result.violations).toEqual([]);
      expect(result.faults).toEqual([]);
      expect(result.kills).toBeGreaterThan(2);
      expect(result.held).toBeGreaterThan(50);
      expect(result.exclusive).toBeGreaterThan(10);
      expect(result.removed).toBeGreaterThan(5);

      const guards = new Guards(path.join(dir, 'locks'));
      const names = readdirSync(path.join(dir, 'locks')).filter((name) => !name.startsWith('chore-'));
      const all = Promise.all(names.map((name) => guards.exclusive(name)));
      for (const guard of await withinASecond('all locks after the storm', all)) guard.release();
    },
    SECONDS * 6_000 + 60_000,
  );

  it('find out locks that time takes away', async () => {
    const { violations } = await stormUntilFoundOut({
      dir,
      ms: 60_000,
      processes: 5,
      guards: 'broken',
      pidNamespaces: false,
      stopMs: { least: 2_500, most: 3_500 },
      random: new Random(SEED),
    });
    expect(violations.length, 'a broken lock stood the torture: it proves nothing').toBeGreaterThan(0);
  }, 120_000);
});
