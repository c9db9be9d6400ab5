import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Guards } from '../../src/shared/lock/guard.ts';
import { type StormOptions, storm, stormUntilFoundOut } from '../support/cache-storm.ts';
import { useEngine } from '../support/engine-rig.ts';
import { Random } from '../support/random.ts';
import { inPidNamespace, onHost, StormContainers, type StormPlace } from '../support/storm-places.ts';
import { Cleanup } from '../support/temp.ts';
import { withinASecond } from '../support/within-a-second.ts';

/** Longer by hand: VOLE_TORTURE_SECONDS=300. */
const SECONDS = Number(process.env['VOLE_TORTURE_SECONDS'] ?? 6);
const SEED = Number(process.env['VOLE_TORTURE_SEED'] ?? Date.now() % 1_000_000);

/** Where there is time, longer than a chore's holder may be silent. */
const MOST_STOPPED_MS = SECONDS >= 60 ? 15_000 : 1_500;
const TIMEOUT_MS = SECONDS * 6_000 + 60_000;

let cleanup: Cleanup;
let dir: string;
beforeEach(() => {
  cleanup = new Cleanup();
  dir = cleanup.tempDir('vole-storm-');
});
afterEach(() => cleanup.run());

const options = (places: readonly StormPlace[], given: Partial<StormOptions> = {}): StormOptions => ({
  dir,
  ms: SECONDS * 1_000,
  processes: 5,
  guards: 'real',
  places,
  stopMs: { least: 0, most: MOST_STOPPED_MS },
  random: new Random(SEED),
  ...given,
});

async function standsTheStorm(places: readonly StormPlace[]): Promise<void> {
  const result = await storm(options(places));
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
}

async function isFoundOut(places: readonly StormPlace[]): Promise<void> {
  const broken = { ms: 60_000, guards: 'broken', stopMs: { least: 2_500, most: 3_500 } } as const;
  const { violations } = await stormUntilFoundOut(options(places, broken));
  expect(violations.length, 'a broken lock stood the torture: it proves nothing').toBeGreaterThan(0);
}

describe(`five processes with a thread each and trimmers with a limit of one byte, seed ${SEED}`, () => {
  it.each([
    { where: 'on one host', places: [onHost] },
    { where: 'in pid namespaces of their own', places: [inPidNamespace] },
  ])(
    'lose nothing that is held while they are killed and stopped, $where',
    ({ places }) => standsTheStorm(places),
    TIMEOUT_MS,
  );

  it('find out locks that time takes away', () => isFoundOut([onHost]), 120_000);

  describe('of which all but one are the first process of a container that shares the directory', () => {
    const engine = useEngine();
    let places: StormPlace[];
    beforeEach(() => {
      const containers = new StormContainers(engine(), dir);
      cleanup.defer(() => containers.removeAll());
      const { place } = containers;
      places = [place, place, place, place, onHost];
    });

    it(
      'lose nothing that is held while they are killed and stopped',
      () => standsTheStorm(places),
      TIMEOUT_MS,
    );

    it('find out locks that time takes away', () => isFoundOut(places), 120_000);
  });
});
