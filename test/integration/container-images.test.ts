import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { guardName, imageName } from '../../src/shared/dir-layout.ts';
import { ImageFile, imageFiles } from '../../src/shared/engine/image-record.ts';
import { ContainerRig } from '../support/container-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { GitRepository } from '../support/git-repository.ts';
import { stepContainer } from '../support/image-rig.ts';
import { until } from '../support/until.ts';

const engine = useEngine();
const rig = new ContainerRig(engine, { threads: 3 });
afterAll(() => rig.close());

let repository: GitRepository;
let count = 0;
/** In every file, so that no layer of an earlier one is taken. */
let unlike: string;

beforeEach(() => {
  unlike = `${rig.directory}-${++count}`;
  repository = new GitRepository(path.join(rig.rig.dir, 'repositories', unlike));
});

const FILE = 'ci/Dockerfile';

function commit(lines: readonly string[], files: Record<string, string> = {}): { url: string; sha: string } {
  // The label is for what a build leaves that is stopped.
  const begin = [`FROM ${engine().image}`, `LABEL ${rig.label}`, `RUN echo ${unlike} > /unlike`];
  const text = [...begin, ...lines].join('\n');
  return { url: repository.url, sha: repository.commit({ [FILE]: `${text}\n`, ...files }) };
}

/** A step that goes on when `letGo` is called. */
function holding(then: string): string {
  return `RUN while [ ! -e /go-${unlike} ]; do sleep 0.05; done; ${then}`;
}
async function letGo(): Promise<void> {
  await engine().call('exec', await held(), 'touch', `/go-${unlike}`);
}
async function held(): Promise<string> {
  return await stepContainer(engine(), `/go-${unlike}`);
}
async function stepsEnded(): Promise<void> {
  await until('the container of the step to be gone', async () => {
    const listed = await engine().call('ps', '--all', '--no-trunc', '--format', '{{.Command}}');
    return !listed.includes(unlike);
  });
}

const used = (run: { lines(stream: 'v', step: number): string[] }): string[] => run.lines('v', 0);

describe('what an image-file is built from', () => {
  test('is its folder as the commit has it, and nothing beside it', async () => {
    const source = commit(['COPY . /context'], { 'ci/inner/a.txt': 'a', 'outside.txt': 'o' });
    const steps = ['cd /context; find . -type f | sort; cat inner/a.txt'];
    const run = await rig.run({ imageFile: FILE, source, steps });
    expect(run.outcome).toMatchObject({ result: 'passed' });
    expect(run.lines('o')).toEqual(['./Dockerfile', './inner/a.txt', 'a']);
  });

  test('at the root is the whole commit, without the .git of the checkout', async () => {
    const text = `FROM ${engine().image}\nCOPY . /context\n`;
    const sha = repository.commit({ Dockerfile: text, 'a.txt': unlike });
    const source = { url: repository.url, sha };
    const run = await rig.run({ imageFile: 'Dockerfile', source, steps: ['ls -A /context'] });
    expect(run.lines('o')).toEqual(['Dockerfile', 'a.txt']);
  });

  test('is built anew when anything in the folder changes, and not when something beside it does', async () => {
    const steps = ['cat /unlike'];
    const first = await rig.run({ imageFile: FILE, source: commit([]), steps });
    expect(used(first)).toContain(`building ${FILE}`);
    const beside = await rig.run({ imageFile: FILE, source: commit([], { 'other.txt': 'x' }), steps });
    expect(used(beside)).toContain(`built by run ${first.spec.run}`);
    const inside = await rig.run({ imageFile: FILE, source: commit([], { 'ci/x.txt': 'x' }), steps });
    expect(used(inside)).toContain(`building ${FILE}`);
  });

  test.each([
    ['a file that is not there', 'ci/None', {}, /ci\/None is not in commit [0-9a-f]{12}$/],
    ['a folder that is not there', 'none/Dockerfile', {}, /none\/Dockerfile is not in commit/],
    ['a folder', 'ci', {}, /ci is no plain file in commit/],
  ] as const)('%s is a failure that says so', async (_, imageFile, files, why) => {
    const run = await rig.run({ imageFile, source: commit([], files), steps: ['echo never'] });
    expect(run.outcome).toMatchObject({ result: 'failed', reason: 'image' });
    expect(run.outcome.detail).toMatch(why);
  });

  test.each([FILE, 'ci/.dockerignore'])(
    '%s that is a link to a file of the host is refused',
    async (link) => {
      commit([]);
      repository.git('rm', '-q', '--cached', '--ignore-unmatch', link);
      const blob = repository.git('hash-object', '-w', '/etc/hostname').trim();
      repository.git('update-index', '--add', '--cacheinfo', `120000,${blob},${link}`);
      repository.git('commit', '-q', '-m', 'link');
      const source = { url: repository.url, sha: repository.git('rev-parse', 'HEAD') };
      const run = await rig.run({ imageFile: FILE, source, steps: ['echo never'] });
      expect(run.outcome).toMatchObject({ result: 'failed', reason: 'image' });
      expect(run.outcome.detail).toMatch(/is no plain file|is a symbolic link/);
    },
  );
});

describe('an image belongs to one repository and one trust', () => {
  test('an untrusted run has one of its own of the same file', async () => {
    const source = commit([]);
    const trusted = await rig.run({ imageFile: FILE, source, steps: ['true'] });
    const untrusted = await rig.run({ imageFile: FILE, source, steps: ['true'], trust: 'untrusted' });
    expect(used(untrusted)).toContain(`building ${FILE}`);
    const images = [trusted, untrusted].map((run) => recordOf(run, source.sha).last?.image);
    expect(new Set(images).size).toBe(2);
  });

  test("a file that begins from another's image, by its id, is not built", async () => {
    const source = commit([]);
    const run = await rig.run({ imageFile: FILE, source, steps: ['true'] });
    const id = recordOf(run, source.sha).last?.image ?? '';
    for (const ref of [id, id.slice(7, 19)]) {
      const sha = repository.commit({ [FILE]: `ARG A=${ref}\nFROM $A\nRUN cat /unlike\n` });
      const other = await rig.run({
        repository: 'team/other',
        imageFile: FILE,
        source: { url: repository.url, sha },
        steps: ['cat /unlike'],
      });
      expect(other.outcome).toMatchObject({ result: 'failed', reason: 'image' });
      expect(other.outcome.detail).toMatch(/may be the id of an image that is another repository's/);
    }
  });

  test('the tag that another image was given meanwhile means nothing', async () => {
    const source = commit(['RUN echo mine > /whose']);
    const first = await rig.run({ imageFile: FILE, source, steps: ['cat /whose'] });
    const name = keyOf(first, source.sha);
    const tag = `localhost/vole-built/${name}:${rig.directory}`;
    await engine().call('tag', engine().toolsImage, tag);
    const second = await rig.run({ imageFile: FILE, source, steps: ['cat /whose'] });
    expect(second.lines('o')).toEqual(['mine']);
    await engine().call('rmi', tag);
  });
});

test('an image that somebody has removed is built again', async () => {
  const source = commit([]);
  const first = await rig.run({ imageFile: FILE, source, steps: ['true'] });
  await engine().call('rmi', '--force', recordOf(first, source.sha).last?.image ?? '');
  const second = await rig.run({ imageFile: FILE, source, steps: ['true'] });
  expect(second.outcome.result).toBe('passed');
  expect(used(second)).toContain(`building ${FILE}`);
});

describe('a run that is stopped', () => {
  test('while it builds ends the build, and who has waited builds', async () => {
    const source = commit([holding('true')]);
    const first = rig.start({ imageFile: FILE, source, steps: ['echo never'] });
    await held();
    const second = rig.start({ imageFile: FILE, source, steps: ['echo built'] });
    await second.logged(`waiting for run ${first.spec.run}'s build of ${FILE}`);
    const before = await held();
    first.cancel();
    const { outcome } = await first.ended;
    expect(outcome).toMatchObject({ result: 'cancelled', detail: 'by the test' });
    await until('the build to be another', async () => (await held()) !== before);
    await letGo();
    expect((await second.ended).outcome.result).toBe('passed');
    expect(second.lines('o')).toEqual(['built']);
    await stepsEnded();
  });

  test('by its time while it builds leaves nothing that runs', async () => {
    const source = commit([holding('true')]);
    const run = rig.start({ imageFile: FILE, source, steps: ['echo never'], timeoutMs: 10_000 });
    await held();
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'timed-out', reason: 'timeout' });
    await stepsEnded();
    expect(imageFiles(path.join(rig.rig.dir, 'images'))).not.toContain(keyOf(run, source.sha));
  });

  test('while it waits waits no longer', async () => {
    const source = commit([holding('true')]);
    const first = rig.start({ imageFile: FILE, source, steps: ['true'] });
    await held();
    const second = rig.start({ imageFile: FILE, source, steps: ['true'] });
    await second.logged("'s build of");
    second.cancel();
    expect((await second.ended).outcome.result).toBe('cancelled');
    await letGo();
    expect((await first.ended).outcome.result).toBe('passed');
  });

  test('by the end of its thread has no client left, and the guards are free', async () => {
    const source = commit([holding('true')]);
    const run = rig.start({ imageFile: FILE, source, steps: ['echo never'] });
    await held();
    await run.terminate();
    expect((await run.ended).gone).toBe(true);
    await stepsEnded();
    const free = rig.rig.guards.try(guardName.build(keyOf(run, source.sha)), 'exclusive');
    expect(free).not.toBeNull();
    free?.release();
    const next = rig.start({ imageFile: FILE, source, steps: ['echo built'] });
    await held();
    await letGo();
    expect((await next.ended).outcome.result).toBe('passed');
  });
});

test('a job holds its image from before it is looked for to its end', async () => {
  const source = commit([]);
  const run = rig.start({
    imageFile: FILE,
    source,
    steps: ['echo up; while [ ! -e $VOLE_WORKSPACE/go ]; do sleep 0.05; done'],
  });
  await run.logged('up');
  const name = guardName.image(keyOf(run, source.sha));
  expect(rig.rig.guards.try(name, 'exclusive')).toBeNull();
  run.cancel();
  await run.ended;
  const free = rig.rig.guards.try(name, 'exclusive');
  expect(free).not.toBeNull();
  free?.release();
});

test('a build has the bounds of a container', async () => {
  const bound = 'cat /sys/fs/cgroup/memory/memory.limit_in_bytes || cat /sys/fs/cgroup/memory.max';
  const cpus = 'cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us || cut -d" " -f1 /sys/fs/cgroup/cpu.max';
  const source = commit([`RUN (${bound}; ${cpus}) > /bounds 2>/dev/null`]);
  const limits = { memoryBytes: 64 * 1024 * 1024, cpus: 0.5 };
  const run = await rig.run({ imageFile: FILE, source, steps: ['cat /bounds'] }, { limits });
  expect(run.lines('o')).toEqual([String(64 * 1024 * 1024), '50000']);
});

test('a secret of the job is masked in what its build prints, and no build has it', async () => {
  const source = commit(['RUN env; echo a-known-secret']);
  const run = await rig.run({
    imageFile: FILE,
    source,
    steps: ['true'],
    secrets: { TOKEN: 'a-known-secret' },
  });
  const log = readFileSync(run.paths.spool, 'utf8');
  expect(log).not.toContain('a-known-secret');
  expect(log).not.toContain('TOKEN=');
});

function keyOf(
  { spec }: { spec: { repository: string; trust: 'trusted' | 'untrusted' } },
  sha: string,
): string {
  const tree = repository.git('rev-parse', `${sha}:ci`);
  const { repository: of, trust } = spec;
  return imageName({ engine: engine().facts.name, repository: of, trust, file: FILE, tree });
}

function recordOf(run: Parameters<typeof keyOf>[0], sha: string): ImageFile {
  return new ImageFile(path.join(rig.rig.dir, 'images'), keyOf(run, sha));
}
