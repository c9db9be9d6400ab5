import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDir } from '../../src/runner/dir/open-dir.ts';
import { objectsWith } from '../../src/shared/engine/objects.ts';
import { type Job, Rig } from '../support/e2e-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { removeLeftAtEnd } from '../support/image-rig.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/until.ts';

/** The whole where there is time. */
const ROUNDS = Number(process.env['VOLE_TORTURE_SECONDS'] ?? 0) >= 30 ? 35 : 4;
/** From a runner's start to its kill. */
const LONGEST_MS = 3_000;

const engine = useEngine();
let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start(['--lease-time', '600']);
  removeLeftAtEnd(rig.cleanup, engine(), `${rig.root}/dir`);
});
afterEach(() => rig?.close());

const jobs = (count: number, job: Job): Record<string, Job> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`j${i}`, job]));

/** Containers and networks of the directory, by the pid in the name of the process that made each. */
async function byOwner(dir: string): Promise<Map<number, string[]>> {
  const { id } = await openDir(dir);
  const found = await objectsWith(engine().engine, 'vole.directory', id, 'vole.process');
  if (!found.ok) throw new Error(found.failure.why);
  const owners = new Map<number, string[]>();
  for (const { object, other } of found.value) {
    const pid = Number(other.split('-')[0]);
    owners.set(pid, [...(owners.get(pid) ?? []), object.name]);
  }
  return owners;
}

it(`a runner that is killed ${ROUNDS} times in mid-job leaves nothing after the next start, and its sibling is untouched`, async () => {
  const random = new Random(Number(process.env['VOLE_TORTURE_SEED'] ?? Date.now() % 1e6));
  const dir = `${rig.root}/dir`;
  const { image } = engine();
  await rig.repository('o/long', jobs(4, { image, labels: ['sibling'], steps: ['echo begun; sleep 3000'] }));
  const steps = [
    'echo begun >/cache/$VOLE_RUN',
    'sleep 0.$((VOLE_RUN % 10))',
    'sh -c "setsid sleep 2000 &"; sleep 1',
  ];
  const short = jobs(8, { image, labels: ['killed'], steps });
  const services = { db: { image, command: ['sleep', '1000'] } };
  for (const name of ['j0', 'j3', 'j6']) short[name] = { image, labels: ['killed'], services, steps };
  await rig.repository('o/short', short);
  const sibling = rig.runner(['--jobs', '4', '--labels', 'sibling']);
  const long = await rig.submit('o/long');
  for (const id of long) await rig.logHas(id, 'begun');
  const untouched = (await byOwner(dir)).get(sibling.pid)?.sort() ?? [];
  expect(untouched).toHaveLength(4);

  let dead = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const queued = (await rig.runs()).filter(({ state }) => state === 'queued').length;
    if (queued < 8) await rig.submit('o/short');
    const runner = rig.runner(['--jobs', '4', '--labels', 'killed']);
    await runner.says(/ready/);
    const owners = await byOwner(dir);
    expect(
      [...owners.keys()].filter((pid) => pid !== sibling.pid && pid !== runner.pid),
      `round ${round}`,
    ).toEqual([]);
    expect(owners.get(sibling.pid)?.sort()).toEqual(untouched);
    await delay(random.below(LONGEST_MS));
    runner.kill('SIGKILL');
    await runner.ended;
    dead += (await byOwner(dir)).get(runner.pid)?.length ?? 0;
  }
  // Some were killed while they had containers, or nothing was shown.
  expect(dead).toBeGreaterThan(ROUNDS / 4);
  const last = rig.runner(['--jobs', '4', '--labels', 'killed']);
  await last.says(/ready/);
  for (const id of long) {
    expect(await rig.run(id)).toMatchObject({ state: 'running', attempt: 1 });
    await rig.api('POST', `/api/runs/${id}/cancel`);
  }
  for (const id of long) expect(await rig.ended(id)).toMatchObject({ state: 'cancelled' });
  await until(
    'all runs to end',
    async () => (await rig.runs()).every(({ state }) => state !== 'queued' && state !== 'running'),
    300_000, // each has containers to start, on a host that may be busy with others
  );
  await until('the last containers to be gone', async () => (await byOwner(dir)).size === 0);
}, 600_000);
