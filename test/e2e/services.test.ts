import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDir } from '../../src/runner/dir/open-dir.ts';
import { objectsWith } from '../../src/shared/engine/objects.ts';
import { type Job, Rig } from '../support/e2e-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { directoryId, removeBuiltImages, removeLeftAtEnd } from '../support/image-rig.ts';
import { OwnEngine } from '../support/own-engine.ts';
import { answering, sh } from '../support/service-rig.ts';
import { until } from '../support/until.ts';
import { vole } from '../support/vole-process.ts';

const engine = useEngine();
let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
  removeLeftAtEnd(rig.cleanup, engine(), dir());
});
afterEach(() => rig?.close());

const dir = () => path.join(rig.root, 'dir');
const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');

/** Containers and networks of this rig's directory, in the host's engine or this one. */
async function objects(of = engine().engine): Promise<string[]> {
  const { id } = await openDir(dir());
  const found = await objectsWith(of, 'vole.directory', id, 'vole.process');
  if (!found.ok) throw new Error(found.failure.why);
  return found.value.map(({ object }) => object.kind).sort();
}

function withDb(steps: string[], db: Record<string, unknown> = {}): Job {
  const { image } = engine();
  const command = sh(answering(5432, 'echo from the db'));
  return { image, services: { db: { image, command, 'ready-ports': 5432, ...db } }, steps };
}

const ask = 'nc -w 5 db 5432 </dev/null';

it('vole run gives a job its services, which are gone with it', async () => {
  const repository = await rig.repository('o/r', { a: withDb([ask]) });
  const done = await vole(['run', '--dir', dir()], { cwd: repository });
  expect(done.stdout).toMatch(/a \| service db is ready after \d+\.\d s/);
  expect(done.stdout).toContain('a | from the db');
  expect(done.code).toBe(0);
  expect(await objects()).toEqual([]);
});

it('a job of an image that is built from a file has them too', async () => {
  const { image, ...job } = withDb([ask]);
  const built = { ...job, checkout: true, 'image-file': 'ci/Dockerfile', steps: ['cat /built', ask] };
  const files = { 'ci/Dockerfile': `FROM ${String(image)}\nRUN ["/bin/sh", "-c", "echo built >/built"]\n` };
  await rig.repository('o/r', { a: built }, { files });
  const [id = 0] = await rig.submit('o/r');
  rig.cleanup.defer(() => removeBuiltImages(engine(), directoryId(dir())));
  await rig.runner().says(/ready/);
  expect(await rig.ended(id)).toMatchObject({ state: 'passed' });
  expect(await rig.output(id)).toMatch(/^built\nfrom the db$/m);
});

it('a job on the host with services is refused by name, and by vole lint before', async () => {
  const { image: _image, ...job } = withDb(['true']);
  const repository = await rig.repository('o/r', { a: job });
  const linted = await vole(['lint', path.join(repository, '.vole.yml')]);
  expect(linted.code).not.toBe(0);
  expect(linted.stdout + linted.stderr).toMatch(
    /\.vole\.yml:\d+:\d+: a job with `services` needs an `image` or `image-file`/,
  );
  await expect(rig.submit('o/r')).rejects.toThrow(/a job with `services` needs an `image` or `image-file`/);
});

it('whose runner was killed, they and their network are removed by the next start', async () => {
  await rig.repository('o/r', { a: withDb(['echo begun; sleep 600']) });
  const [id = 0] = await rig.submit('o/r');
  const runner = rig.runner();
  await rig.logHas(id, 'begun');
  expect(await objects()).toEqual(['container', 'container', 'network']);
  runner.kill('SIGKILL');
  await runner.ended;
  const next = rig.runner(['--labels', 'other']);
  await next.says(/ready/);
  await rig.runIs(id, ({ state, attempt }) => attempt === 2 || state === 'lost' || state === 'queued');
  await rig.api('POST', `/api/runs/${id}/cancel`);
  await rig.ended(id);
  next.kill('SIGTERM');
  await next.ended;
  expect(await objects()).toEqual([]);
});

it('where the processes of the engine are not to be seen, the engine is asked', async () => {
  const dies = 'nc -l -p 5432 </dev/null; exit 3';
  const job = withDb([ask, 'until [ -e go ]; do sleep 0.1; done; exit 4'], { command: sh(dies) });
  await rig.repository('o/r', { a: job });
  const [id = 0] = await rig.submit('o/r');
  // A pid namespace of its own.
  rig.runner([], {}, ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', process.execPath, bin]);
  await until('the log to say it', async () =>
    (await rig.rawLog(id)).includes('service db has ended: exit code 3'),
  );
  const [tree = ''] = readdirSync(path.join(dir(), 'jobs'));
  writeFileSync(path.join(dir(), 'jobs', tree, 'src/go'), '');
  expect(await rig.ended(id)).toMatchObject({
    state: 'failed',
    detail: expect.stringMatching(/exit code 4; service db had ended: exit code 3$/),
  });
});

describe('an engine with room for two networks', () => {
  OwnEngine.need();

  it('is enough for many jobs one after another, and for four at once', async () => {
    // Each with six addresses.
    const pool = ['--default-address-pool', 'base=10.213.77.0/28,size=29'];
    const own = await OwnEngine.start(rig.cleanup, engine(), pool);
    const job = (): Job => withDb(['sleep 1'], { command: ['sleep', '600'], 'ready-ports': [] });
    await rig.repository('o/r', { a: job(), b: job(), c: job(), d: job() });
    const runner = rig.runner(['--jobs', '4', '--engine', 'docker'], { DOCKER_HOST: own.host });
    const ids = [...(await rig.submit('o/r')), ...(await rig.submit('o/r'))];
    const logs: string[] = [];
    for (const id of ids) {
      expect(await rig.ended(id)).toMatchObject({ state: 'passed' });
      logs.push(await rig.rawLog(id));
    }
    // Or nothing was shown.
    expect(logs.some((log) => log.includes('no address pool left'))).toBe(true);
    runner.kill('SIGTERM');
    await runner.ended;
    expect(await objects(own.engine)).toEqual([]);
  });
});
