import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageFiles } from '../../src/shared/engine/image-record.ts';
import { IMAGE_LABEL } from '../../src/shared/engine/owned.ts';
import { processesWithEnvPrefix } from '../../src/shared/platform/processes.ts';
import { type Job, Rig } from '../support/e2e-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { directoryId, removeLeft, stepContainer } from '../support/image-rig.ts';
import { until } from '../support/until.ts';
import { vole } from '../support/vole-process.ts';

const engine = useEngine();
let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(async () => {
  const id = directoryId(dir());
  await rig.close();
  await removeLeft(engine(), id);
});

function dir(): string {
  return path.join(rig.root, 'dir');
}

function fileOf(name: string): Record<string, string> {
  return { [`${name}/Dockerfile`]: `FROM ${engine().image}\nRUN echo ${name} ${rig.root} > /built\n` };
}

function jobOf(name: string, step = 'cat /built'): Job {
  return { 'image-file': `${name}/Dockerfile`, checkout: true, steps: [step] };
}

/** Not begun again when its runner is lost. */
function once(job: Job): Job {
  return { ...job, 'retry-lost': false };
}

/** Ids of the images that were built for the directory. */
async function images(): Promise<string[]> {
  const filter = ['--filter', `label=${IMAGE_LABEL.directory}=${directoryId(dir())}`];
  const listed = await engine().call('images', '--quiet', '--no-trunc', ...filter);
  return [...new Set(listed.split('\n').filter(Boolean))];
}

async function runs(job: string): Promise<number> {
  const [id = 0] = await rig.submit('team/app', [job]);
  return id;
}

async function passes(job: string): Promise<void> {
  expect((await rig.ended(await runs(job))).state).toBe('passed');
}

test('of the images that were built, the last --image-keep stay, and one that is used', async () => {
  await rig.repository(
    'team/app',
    {
      a: jobOf('a', 'echo up; while [ ! -e $VOLE_CACHE/go ]; do sleep 0.05; done'),
      b: jobOf('b'),
      c: jobOf('c'),
      a2: jobOf('a'),
    },
    { files: { ...fileOf('a'), ...fileOf('b'), ...fileOf('c') } },
  );
  rig.runner(['--jobs', '2', '--image-keep', '1']);
  const long = await runs('a');
  await rig.logHas(long, 'up');
  await passes('b');
  await passes('c');
  // The long one's is the oldest, and in use; of the others the last stays.
  await until('two images', async () => (await images()).length === 2);
  await rig.api('POST', `/api/runs/${long}/cancel`);
  await rig.ended(long);
  await until('one image', async () => (await images()).length === 1);
  await until('one record', () => imageFiles(path.join(dir(), 'images')).length === 1);
  await passes('c');
  expect(await images()).toHaveLength(1);
  await passes('a2'); // and what has gone is built again
});

test('after a SIGKILL in a build the next start ends it, and removes an image that no record names', async () => {
  const hold = `while [ ! -e /go-${path.basename(rig.root)} ]; do sleep 0.05; done`;
  const held = { 'h/Dockerfile': `FROM ${engine().image}\nRUN ${hold}\n` };
  const files = { ...fileOf('a'), ...fileOf('b'), ...held };
  await rig.repository(
    'team/app',
    {
      a: jobOf('a'),
      b: jobOf('b'),
      long: once(jobOf('b', 'echo up; sleep 600')),
      h: once(jobOf('h', 'true')),
    },
    { files },
  );
  const runner = rig.runner(['--jobs', '2']);
  await passes('a');
  await passes('b');
  const [lost = ''] = imageFiles(path.join(dir(), 'images'));
  const long = await runs('long');
  await rig.logHas(long, 'up');
  await runs('h');
  const step = await stepContainer(engine(), rig.root.split('/').pop() ?? '');
  await runner.destroy();
  rmSync(path.join(dir(), 'images', `${lost}.json`));
  const { stdout } = await vole(['doctor', '--dir', dir()]);
  const [, left = ''] = /warn +leftovers +(.*)\n/.exec(stdout) ?? [];
  expect(left).toMatch(new RegExp(`container vole-${long}-1\\S+, image ${lost}$`));
  expect(left.match(/tree \d+-1\.\w+/g)).toHaveLength(2);
  expect(left).toMatch(/process \d+/); // the client of the build, which goes on

  const next = rig.runner();
  await next.says(/ready/);
  const marker = `${directoryId(dir())}/`;
  expect(processesWithEnvPrefix('VOLE_JOB_MARKER', marker)).toEqual([]);
  await until('the step of the build to be gone', async () => {
    const there = await engine().engine.call(['inspect', '--type', 'container', step]);
    return !there.ok;
  });
  expect(next.stderr).toContain(`removed a built image of no use, ${lost}`);
  expect(await images()).toHaveLength(1);
  expect((await vole(['doctor', '--dir', dir()])).stdout).toMatch(
    /ok +leftovers +no trees, processes, containers, networks or images/,
  );
});

test('a start leaves alone what a living sibling is building', async () => {
  const hold = `while [ ! -e /go-${path.basename(rig.root)} ]; do sleep 0.05; done`;
  const files = { 'h/Dockerfile': `FROM ${engine().image}\nRUN ${hold}\n` };
  await rig.repository('team/app', { h: jobOf('h', 'echo hi') }, { files });
  await rig.runner([]).says(/ready/);
  const run = await runs('h');
  const name = `/go-${path.basename(rig.root)}`;
  const step = await stepContainer(engine(), name);
  await rig.runner([]).says(/ready/);
  await engine().call('exec', step, 'touch', name);
  expect((await rig.ended(run)).state).toBe('passed');
});
