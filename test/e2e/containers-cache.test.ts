import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { Trust } from '../../src/shared/job-spec.ts';
import { type Job, Rig } from '../support/e2e-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { removeLeftAtEnd } from '../support/image-rig.ts';
import { RunnerRig } from '../support/runner-rig.ts';
import { newRun } from '../support/store-rig.ts';
import { Cleanup } from '../support/temp.ts';

const engine = useEngine();
const cleanup = new Cleanup();
afterEach(() => cleanup.run());

async function start(): Promise<Rig> {
  const rig = await Rig.start();
  cleanup.defer(() => rig.close());
  removeLeftAtEnd(rig.cleanup, engine(), path.join(rig.root, 'dir'));
  return rig;
}

it('a cache stays under its jobs while two processes trim it every 50 ms', async () => {
  const rig = await start();
  const look = 'for i in $(seq 15); do [ -e /cache/$VOLE_RUN ] || exit 9; sleep 0.1; done';
  const job: Job = {
    image: engine().image,
    steps: ['echo x >/cache/$VOLE_RUN', look, 'ls /cache >/cache/list'],
  };
  const repositories = ['o/a', 'o/b', 'o/c'];
  for (const name of repositories) await rig.repository(name, { one: job, two: job });
  const tight = ['--jobs', '2', '--cache-size', '1K', '--trim-interval', '0.05'];
  await Promise.all([rig.runner(tight).says(/ready/), rig.runner(tight).says(/ready/)]);
  const ids = (await Promise.all([...repositories, ...repositories].map((name) => rig.submit(name)))).flat();
  for (const id of ids) expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 1 });
});

it("a job that empties its cache takes nothing of another repository's", async () => {
  const rig = await start();
  const { image } = engine();
  const shared = (steps: string[]): Record<string, Job> => ({ a: { image, steps } });
  await rig.repository('o/mine', shared(['echo x >/cache/file; sleep 2; cat /cache/file']));
  await rig.repository('o/other', shared(['sleep 0.5; rm -rf /cache/*']));
  await rig.runner(['--jobs', '2']).says(/ready/);
  const [[mine = 0], [other = 0]] = [await rig.submit('o/mine'), await rig.submit('o/other')];
  expect(await rig.ended(other)).toMatchObject({ state: 'passed' });
  expect(await rig.ended(mine)).toMatchObject({ state: 'passed' });
});

it('an untrusted run has a cache of its own, and without an image it is refused by name', async () => {
  const rig = new RunnerRig();
  cleanup.defer(() => rig.close());
  const { facts, image } = engine();
  await rig.start({ worker: 'worker.js', engine: facts.name, engineEnv: facts.env, hostJobs: 'trusted' });
  const run = async (trust: Trust, of: string | null, script: string) => {
    const { spec } = newRun();
    return await rig.runEnded(await rig.queue(script, { spec: { ...spec, trust, image: of } }));
  };
  const mark = (trust: Trust): string =>
    `ls -A /cache; [ "$(ls -A /cache)" = "$WANT" ]; touch /cache/${trust}`;
  expect(await run('trusted', image, `WANT=; ${mark('trusted')}`)).toMatchObject({ state: 'passed' });
  expect(await run('untrusted', image, `WANT=; ${mark('untrusted')}`)).toMatchObject({ state: 'passed' });
  expect(await run('trusted', image, `WANT=trusted; ${mark('trusted')}`)).toMatchObject({ state: 'passed' });
  expect(await run('untrusted', image, `WANT=untrusted; ${mark('untrusted')}`)).toMatchObject({
    state: 'passed',
  });
  expect(await run('untrusted', null, 'true')).toMatchObject({ state: 'refused' });
  const caches = readdirSync(path.join(rig.dir, 'dir', 'cache')).filter((name) => !name.endsWith('.json'));
  expect(caches).toHaveLength(2);
});
