import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Job, Rig } from '../support/e2e-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { RegistryRig } from '../support/registry-rig.ts';
import { until } from '../support/until.ts';

const engine = useEngine();
let rig: Rig;
let registry: RegistryRig;
let image: string;

beforeEach(async () => {
  registry = await RegistryRig.start();
  rig = await Rig.start();
  image = registry.name('app:1');
  // A layer of its own, so that there is something to be pulled.
  const input = `FROM ${engine().image}\nRUN echo ${image} > /pulled\n`;
  const made = await engine().engine.call(['build', '--tag', image, '-'], { input });
  if (!made.ok) throw new Error(made.failure.why);
  await engine().call('push', image);
  await engine().call('rmi', image);
  registry.asked.length = 0;
});
afterEach(async () => {
  await rig.close();
  await engine().engine.call(['rmi', image]); // where it was pulled
  await registry.close();
});

const EIGHT = Array.from({ length: 8 }, (_, at) => String(at + 1));

function eight(name: string): Job {
  return { image: name, strategy: { matrix: { n: EIGHT }, 'fail-fast': false }, steps: ['echo hi'] };
}

async function twoRunners(): Promise<void> {
  const runners = [rig.runner(['--jobs', '4']), rig.runner(['--jobs', '4'])];
  await Promise.all(runners.map((runner) => runner.says(/slots? connected|ready/i)));
}

async function having(runs: readonly number[], text: string): Promise<number[]> {
  const logs = await Promise.all(runs.map((run) => rig.rawLog(run)));
  return runs.filter((_, at) => logs[at]?.includes(text));
}

test('eight slots in two processes that lack one image pull it once, with progress in one log', async () => {
  const release = registry.hold();
  await rig.repository('team/app', { t: eight(image) });
  await twoRunners();
  const runs = await rig.submit('team/app');
  const waiting = `pull of image ${image}`;
  await until('the others to wait', async () => (await having(runs, waiting)).length === 7);
  release();
  for (const run of runs) expect((await rig.ended(run)).state).toBe('passed');
  const pullers = await having(runs, `pulling image ${image}`);
  expect(pullers).toHaveLength(1);
  expect(await having(runs, `waiting for run ${pullers[0]}'s pull of image ${image}`)).toHaveLength(7);
  expect(await having(runs, 'Pull complete')).toEqual(pullers);
  expect(new Set(registry.asked)).toEqual(new Set(['app:1']));
  expect(registry.asked.length).toBeLessThanOrEqual(2); // a client may ask whether it is there, and then for it
});

test('a pull that fails has failed for the eight that wait for it', async () => {
  const absent = registry.name('app:none');
  const release = registry.hold();
  await rig.repository('team/app', { t: eight(absent) });
  await twoRunners();
  const runs = await rig.submit('team/app');
  await until('the others to wait', async () => (await having(runs, "'s pull of image")).length === 7);
  release();
  for (const run of runs) {
    const ended = await rig.ended(run);
    expect(ended).toMatchObject({ state: 'failed', reason: 'image' });
    expect(ended.detail).toMatch(/image \S+app:none: .*manifest/);
    expect(await rig.output(run)).toMatch(/manifest.*unknown/);
  }
  expect(await having(runs, `pulling image`)).toHaveLength(1);
  expect(registry.asked.length).toBeLessThanOrEqual(2);
});

test('image-pull: always pulls before every job, and an operator may say never', async () => {
  await rig.repository('team/app', {
    missing: { image, steps: ['echo hi'] },
    always: { image, 'image-pull': 'always', steps: ['echo hi'] },
    plain: { image, 'image-pull': 'missing', steps: ['echo hi'] },
  });
  const run = async (job: string): Promise<number> => {
    const [id = 0] = await rig.submit('team/app', [job]);
    return id;
  };
  const never = rig.runner(['--image-pull', 'never']);
  const refused = await rig.ended(await run('always'));
  expect(refused).toMatchObject({
    state: 'failed',
    reason: 'image',
    detail: `image ${image} is not on this host`,
  });
  expect(registry.asked).toEqual([]);
  await never.destroy();

  const runner = rig.runner(['--image-pull', 'missing']);
  const pulls = async (job: string): Promise<boolean> => {
    registry.asked.length = 0;
    const id = await run(job);
    expect((await rig.ended(id)).state).toBe('passed');
    return registry.asked.length > 0;
  };
  expect(await pulls('missing')).toBe(true);
  expect(await pulls('missing')).toBe(false);
  expect(await pulls('always')).toBe(true);
  expect(await pulls('always')).toBe(true);
  await runner.destroy();

  rig.runner(['--image-pull', 'always']);
  expect(await pulls('plain')).toBe(true);
});
