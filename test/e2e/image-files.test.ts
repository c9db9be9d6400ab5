import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageFiles } from '../../src/shared/engine/image-record.ts';
import { IMAGE_LABEL } from '../../src/shared/engine/owned.ts';
import { type Job, Rig } from '../support/e2e-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { directoryId, ImageEvents, removeLeft, stepContainer } from '../support/image-rig.ts';
import { until } from '../support/until.ts';

const engine = useEngine();
let rig: Rig;
let events: ImageEvents;

beforeEach(async () => {
  rig = await Rig.start();
  events = new ImageEvents(engine());
});
afterEach(async () => {
  const id = directory();
  await rig.close();
  await events.close();
  await removeLeft(engine(), id);
});

/** Id of the runners' directory. */
function directory(): string {
  return directoryId(path.join(rig.root, 'dir'));
}

const EIGHT = Array.from({ length: 8 }, (_, at) => String(at + 1));

/** Eight runs of one job, all in the image of one file; and one for later. */
function eight(...steps: Job['steps']): Record<string, Job> {
  const later = { 'image-file': 'ci/Dockerfile', checkout: true, steps };
  return { t: { ...later, strategy: { matrix: { n: EIGHT }, 'fail-fast': false } }, later };
}

/** Holds the build until `/go` is in the container of its step. */
function heldFile(then: string): Record<string, string> {
  const hold = `while [ ! -e /go-${path.basename(rig.root)} ]; do sleep 0.05; done`;
  return { 'ci/Dockerfile': `FROM ${engine().image}\nRUN ${hold}; ${then}\n` };
}

async function letGo(): Promise<void> {
  const name = `/go-${path.basename(rig.root)}`;
  await engine().call('exec', await stepContainer(engine(), name), 'touch', name);
}

/** Two processes on one directory, four slots each. */
async function twoRunners(): Promise<void> {
  const runners = [rig.runner(['--jobs', '4']), rig.runner(['--jobs', '4'])];
  await Promise.all(runners.map((runner) => runner.says(/slots? connected|ready/i)));
}

/** Those of these runs whose log has this text. */
async function having(runs: readonly number[], text: string | RegExp): Promise<number[]> {
  const logs = await Promise.all(runs.map((run) => rig.rawLog(run)));
  return runs.filter((_, at) =>
    typeof text === 'string' ? logs[at]?.includes(text) : text.test(logs[at] ?? ''),
  );
}

test('eight slots in two processes that ask for one new image-file get one build', async () => {
  await rig.repository('team/app', eight('cat /built; echo hi'), { files: heldFile('echo x > /built') });
  await twoRunners();
  const runs = await rig.submit('team/app', ['t']);
  expect(runs).toHaveLength(8);
  const builders = await until('a build', async () => {
    const found = await having(runs, 'building ci/Dockerfile');
    return found.length > 0 ? found : null;
  });
  const [builder] = builders;
  const waiting = `waiting for run ${builder}'s build of ci/Dockerfile`;
  await until('the others to wait', async () => (await having(runs, waiting)).length === 7);
  await letGo();
  for (const run of runs) expect((await rig.ended(run)).state).toBe('passed');
  expect(await having(runs, 'building ci/Dockerfile')).toEqual(builders);
  expect(await having(runs, /Successfully built|exporting to image/)).toEqual(builders);
  for (const run of runs) expect(await rig.output(run)).toMatch(/x\nhi$/);
  expect(await events.tagged(directory())).toHaveLength(1);
  // One that comes later finds it.
  const [later] = await rig.submit('team/app', ['later']);
  expect((await rig.ended(later ?? 0)).state).toBe('passed');
  expect(await rig.rawLog(later ?? 0)).toContain(`built by run ${builder}`);
});

test('a file that fails to build is built once for the eight that wait, and each has its output', async () => {
  const then = 'echo the part that fails; exit 3';
  await rig.repository('team/app', eight('echo never'), { files: heldFile(then) });
  await twoRunners();
  const runs = await rig.submit('team/app', ['t']);
  await until(
    'the others to wait',
    async () => (await having(runs, "'s build of ci/Dockerfile")).length === 7,
  );
  await letGo();
  for (const run of runs) {
    const ended = await rig.ended(run);
    expect(ended).toMatchObject({ state: 'failed', reason: 'image' });
    expect(ended.detail).toMatch(/image-file ci\/Dockerfile: .*returned a non-zero code: 3|exit code: 3/);
    expect(await rig.output(run)).toMatch(/^the part that fails$/m);
    expect(await rig.output(run)).not.toMatch(/^never$/m);
  }
  expect(await having(runs, 'building ci/Dockerfile')).toHaveLength(1);
  // It is no verdict for ever: the next one builds again.
  const [later] = await rig.submit('team/app', ['later']);
  await until('another build', async () => (await having([later ?? 0], 'building')).length === 1);
  await letGo();
  expect((await rig.ended(later ?? 0)).state).toBe('failed');
});

test('two repositories with the same file have an image each', async () => {
  const files = { 'ci/Dockerfile': `FROM ${engine().image}\nRUN echo x > /built\n` };
  const job: Job = { 'image-file': 'ci/Dockerfile', checkout: true, steps: ['cat /built'] };
  // Their names are the same where they are written for people alone.
  await rig.repository('team/a.b', { t: job }, { files });
  await rig.repository('team/a-b', { t: job }, { files });
  await twoRunners();
  const [first = 0] = await rig.submit('team/a.b');
  const [second = 0] = await rig.submit('team/a-b');
  for (const run of [first, second]) expect((await rig.ended(run)).state).toBe('passed');
  expect(await having([first, second], 'building ci/Dockerfile')).toEqual([first, second]);
  const tags = await events.tagged(directory());
  expect(new Set(tags).size).toBe(2);
  const listed = await engine().call(
    'images',
    '--quiet',
    '--no-trunc',
    '--filter',
    `label=${IMAGE_LABEL.directory}=${directory()}`,
  );
  expect(new Set(listed.split('\n')).size).toBe(2);
  expect(imageFiles(path.join(rig.root, 'dir', 'images'))).toHaveLength(2);
});
