import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { AgentSpec } from '../../src/shared/agent/spec.ts';
import { FakeForge } from '../support/forge/forge.ts';
import { GitRepository } from '../support/git-repository.ts';
import { until } from '../support/until.ts';
import { WorkerRig } from '../support/worker-rig.ts';

const rig = new WorkerRig({ threads: 8 });
afterAll(() => rig.close());

let made = 0;
const repository = (): GitRepository => new GitRepository(path.join(rig.dir, 'remotes', String(++made)));

/** A git before the real one on the PATH, which writes down what it is called with. */
function countingGit(): { baseEnv: Record<string, string>; fetches: () => string[] } {
  const dir = path.join(rig.dir, `bin${++made}`);
  mkdirSync(dir);
  const calls = path.join(dir, 'calls');
  const rest = process.env['PATH'] ?? '/usr/bin:/bin';
  writeFileSync(path.join(dir, 'git'), `#!/bin/sh\necho "$*" >> ${calls}\nPATH=${rest} exec git "$@"\n`);
  chmodSync(path.join(dir, 'git'), 0o755);
  return {
    baseEnv: { PATH: `${dir}:${rest}` },
    fetches: () =>
      readFileSync(calls, 'utf8')
        .split('\n')
        .filter((line) => line.includes(' fetch ')),
  };
}

test('8 jobs on a cold saved checkout fetch it once and all get the right tree', async () => {
  const remote = repository();
  const sha = remote.commit({ 'a.txt': 'one', 'deep/b.txt': 'two' });
  const { baseEnv, fetches } = countingGit();
  const source = { url: remote.url, sha };
  const steps = [
    'cat a.txt deep/b.txt; git rev-parse HEAD; git status --porcelain; ls .git/hooks 2>/dev/null || true',
  ];
  const runs = await Promise.all(Array.from({ length: 8 }, () => rig.run({ source, steps }, { baseEnv })));
  for (const run of runs) {
    expect(run.outcome.result, run.outcome.detail).toBe('passed');
    expect(run.lines('o')).toEqual([`onetwo${sha}`]);
  }
  expect(fetches()).toHaveLength(1);
  expect(existsSync(path.join(rig.savedCheckout(remote.url), 'hooks'))).toBe(false);
});

test('a fetch of a new commit does not wait for a job that holds the old one', async () => {
  const remote = repository();
  const old = remote.commit({ f: 'old' });
  const holder = rig.start({
    source: { url: remote.url, sha: old },
    steps: ['echo up; while [ ! -e go ]; do sleep 0.05; done; git show HEAD:f'],
  });
  await holder.logged('up');
  const sha = remote.commit({ f: 'new' });
  const run = await rig.run({ source: { url: remote.url, sha }, steps: ['cat f'] });
  expect(run.lines('o')).toEqual(['new']);
  writeFileSync(path.join(holder.paths.src, 'go'), '');
  expect((await holder.ended).outcome.result).toBe('passed');
  expect(holder.lines('o')).toEqual(['up', 'old']);
});

test('after a kill -9 in a fetch the next job works, and the locks that git left are cleared', async () => {
  const remote = repository();
  const noise = randomBytes(30_000_000);
  remote.git('config', 'core.compression', '0');
  const many = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`f${i}`, String(i)]));
  const sha = remote.commit({ ...many, noise });
  const source = { url: remote.url, sha };
  const saved = rig.savedCheckout(remote.url);
  const packs = path.join(saved, 'objects/pack');
  const killed = rig.start({ source, steps: ['true'] });
  await until(
    'a pack that is being written',
    () => existsSync(packs) && readdirSync(packs).some((name) => name.startsWith('tmp_')),
  );
  for (const pgid of killed.announced) if (!killed.gonePgids.includes(pgid)) process.kill(-pgid, 'SIGKILL');
  const { outcome } = await killed.ended;
  // A kill that came too late is no failure of what follows.
  if (outcome.result === 'failed') expect(outcome.reason).toBe('checkout');
  writeFileSync(path.join(saved, 'packed-refs.lock'), '');
  writeFileSync(path.join(saved, 'config.lock'), '');
  mkdirSync(path.join(saved, 'refs/vole'), { recursive: true });
  writeFileSync(path.join(saved, `refs/vole/${sha}.lock`), '');
  const next = remote.commit({ after: 'yes' });
  const run = await rig.run({
    source: { url: remote.url, sha: next },
    steps: ['cat f149 after; wc -c < noise'],
  });
  expect(run.outcome.detail).toBe('');
  expect(run.lines('o')).toEqual(['149yes30000000']);
  expect(readdirSync(packs).filter((name) => name.startsWith('tmp_'))).toEqual([]);
  expect(readdirSync(saved).filter((name) => name.endsWith('.lock'))).toEqual([]);
});

test('a thread that is ended in a fetch leaves no guard: the next job works', async () => {
  const remote = repository();
  const sha = remote.commit({ f: 'x'.repeat(2_000_000) });
  const source = { url: remote.url, sha };
  const first = rig.start({ source, steps: ['true'] });
  await until('git to run', () => first.announced.length > 0);
  await first.terminate();
  const end = await first.ended;
  expect([end.end.type, end.gone]).toEqual(['died', true]);
  expect((await rig.run({ source, steps: ['test -s f'] })).outcome.detail).toBe('');
});

test("what a git left that was killed while it made the saved checkout is in nobody's way", async () => {
  const remote = repository();
  const sha = remote.commit({ f: '1' });
  const half = `${rig.savedCheckout(remote.url)}.new`;
  mkdirSync(half, { recursive: true });
  for (const name of ['HEAD', 'config.lock']) writeFileSync(path.join(half, name), '');
  const run = await rig.run({ source: { url: remote.url, sha }, steps: ['cat f'] });
  expect([run.outcome.detail, ...run.lines('o')]).toEqual(['', '1']);
  expect(existsSync(half)).toBe(false);
});

describe('refs', () => {
  test('branch feature/ü#%2F', async () => {
    const remote = repository();
    remote.commit({ f: 'main' });
    remote.git('checkout', '-q', '-b', 'feature/ü#%2F');
    const sha = remote.commit({ f: 'branch' });
    const source = { url: remote.url, sha, ref: 'refs/heads/feature/ü#%2F' };
    const run = await rig.run({
      source,
      steps: ['cat f; echo; echo "$VOLE_REF"; git for-each-ref --format="%(refname)"'],
    });
    expect(run.lines('o')).toEqual([
      'branch',
      'refs/heads/feature/ü#%2F',
      'refs/remotes/origin/feature/ü#%2F',
    ]);
  });

  test('an annotated tag', async () => {
    const remote = repository();
    const sha = remote.commit({ f: 'tagged' });
    remote.git('tag', '-a', 'v1', '-m', 'words');
    remote.commit({ f: 'later' });
    const source = { url: remote.url, sha, ref: 'refs/tags/v1' };
    const run = await rig.run({ source, steps: ['cat f; echo; git describe --tags --exact-match'] });
    expect(run.outcome.detail).toBe('');
    expect(run.lines('o')).toEqual(['tagged', 'v1']);
    // Or by the tag object's own name, as an event may give it.
    const object = remote.git('rev-parse', 'v1');
    const byObject = await rig.run({ source: { ...source, sha: object }, steps: ['cat f'] });
    expect(byObject.outcome.detail).toBe('');
    expect(byObject.lines('o')).toEqual(['tagged']);
  });

  test.each(['2', '0'])(
    'a commit only reachable from the ref of a pull request, protocol %s',
    async (version) => {
      const remote = repository();
      remote.commit({ f: 'main' });
      remote.git('checkout', '-q', '-b', 'gone');
      const sha = remote.commit({ f: 'pull' });
      remote.commit({ f: 'pull, later' });
      remote.git('update-ref', 'refs/pull/7/head', 'HEAD');
      remote.git('checkout', '-q', 'main');
      remote.git('branch', '-qD', 'gone');
      const baseEnv = {
        PATH: process.env['PATH'] ?? '',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'protocol.version',
        GIT_CONFIG_VALUE_0: version,
      };
      for (const ref of ['refs/pull/7/head', 'refs/heads/main']) {
        const run = await rig.run({ source: { url: remote.url, sha, ref }, steps: ['cat f'] }, { baseEnv });
        expect(run.outcome.detail, ref).toBe('');
        expect(run.lines('o')).toEqual(['pull']);
      }
    },
  );
});

test('submodules where the job asks, and not where it does not', async () => {
  const library = repository();
  library.commit({ lib: 'library' });
  const remote = repository();
  remote.git('-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', library.url, 'sub');
  const sha = remote.commit({ f: '1' });
  const source = { url: remote.url, sha };
  const withThem = await rig.run({ source: { ...source, submodules: true }, steps: ['cat sub/lib'] });
  expect(withThem.outcome.detail).toBe('');
  expect(withThem.lines('o')).toEqual(['library']);
  const without = await rig.run({ source, steps: ['ls -A sub'] });
  expect(without.lines('o')).toEqual([]);
});

test('a 0-byte file, a 200 MB file, a link, a mode, and a name with everything in it', async () => {
  const remote = repository();
  const large = Buffer.alloc(200_000_000);
  for (let at = 0; at < large.length; at += 1_000_000) large.writeUInt32LE(at, at);
  remote.git('config', 'core.compression', '1');
  remote.git('config', 'core.symlinks', 'true');
  writeFileSync(path.join(remote.dir, 'run.sh'), '#!/bin/sh\necho ran\n', { mode: 0o755 });
  const sha = remote.commit({ empty: '', large, 'na me\n"ü$': 'named' });
  const steps = ['wc -c < empty; wc -c < large; ./run.sh; cat na*'];
  const run = await rig.run({ source: { url: remote.url, sha }, steps });
  expect(run.outcome.detail).toBe('');
  expect(run.lines('o')).toEqual(['0', '200000000', 'ran', 'named']);
  expect(statSync(path.join(run.paths.src, 'large')).size).toBe(200_000_000);
});

describe('a clear error', () => {
  const failed = async (source: { url: string; sha: string }): Promise<string> => {
    const run = await rig.run({ source, steps: ['echo never'] });
    expect(run.outcome).toMatchObject({ result: 'failed', reason: 'checkout', steps: [] });
    expect(run.outcome.detail).not.toContain('\n');
    return run.outcome.detail;
  };

  test('for an empty repository', async () => {
    const remote = repository();
    expect(await failed({ url: remote.url, sha: 'a'.repeat(40) })).toBe(
      `checkout: the repository ${remote.url} is empty`,
    );
  });

  test('for a commit that is not there', async () => {
    const remote = repository();
    remote.commit({ f: '1' });
    expect(await failed({ url: remote.url, sha: 'b'.repeat(40) })).toMatch(
      `commit ${'b'.repeat(40)} is not in ${remote.url}`,
    );
  });

  test('for a repository that is not there', async () => {
    const url = `file://${rig.dir}/nope`;
    expect(await failed({ url, sha: 'c'.repeat(40) })).toMatch(`fetching from ${url}`);
  });

  test('for a host without git', async () => {
    const source = { url: 'file:///x', sha: 'f'.repeat(40) };
    const run = await rig.run({ source, steps: ['true'] }, { baseEnv: { PATH: rig.home } });
    expect(run.outcome).toMatchObject({ reason: 'checkout', detail: 'checkout: git is not on this host' });
  });

  test('that does not tell the password of the address, nor does the log', async () => {
    const source = { url: 'http://user:s3cret%21pass@127.0.0.1:1/x.git', sha: 'e'.repeat(40) };
    const run = await rig.run({ source, steps: ['true'] });
    expect(run.outcome).toMatchObject({ result: 'failed', reason: 'checkout' });
    expect(run.outcome.detail).toContain('127.0.0.1');
    const said = run.outcome.detail + run.records.map((record) => record.text).join('\n');
    expect(said).not.toMatch(/s3cret/);
    expect(said).toContain('http://user:***@127.0.0.1:1/x.git');
  });

  test('for an address that git would take for an option', async () => {
    expect(await failed({ url: '--upload-pack=touch /tmp/x', sha: 'd'.repeat(40) })).toMatch('fetching from');
  });
});

describe('a damaged saved checkout is set aside and fetched afresh', () => {
  const objectsOf = (saved: string): string[] =>
    readdirSync(path.join(saved, 'objects'), { recursive: true, encoding: 'utf8' })
      .map((name) => path.join(saved, 'objects', name))
      .filter((file) => statSync(file).isFile());

  const overwriteAll = (saved: string, content: (file: string) => string | Buffer): void => {
    for (const file of objectsOf(saved)) overwrite(file, content(file));
  };
  const torn = (file: string): Buffer => readFileSync(file).subarray(0, 9);
  // Of a few files git keeps loose objects, of many a pack.
  const harms: [string, number, (saved: string, sha: string) => void][] = [
    ['loose objects are empty', 1, (saved) => overwriteAll(saved, () => '')],
    ['loose objects are torn', 1, (saved) => overwriteAll(saved, torn)],
    ['packs are empty', 150, (saved) => overwriteAll(saved, () => '')],
    ['packs are torn', 150, (saved) => overwriteAll(saved, torn)],
    ['packs are noise', 150, (saved) => overwriteAll(saved, () => 'noise'.repeat(99))],
    ['the pin is empty', 1, (saved, sha) => overwrite(path.join(saved, 'refs/vole', sha), '')],
    ['the settings are noise', 1, (saved) => overwrite(path.join(saved, 'config'), '[core\0')],
    ['the objects are gone', 1, (saved) => rmSync(path.join(saved, 'objects'), { recursive: true })],
    ['HEAD is gone', 1, (saved) => rmSync(path.join(saved, 'HEAD'))],
    ['HEAD is empty', 1, (saved) => overwrite(path.join(saved, 'HEAD'), '')],
  ];

  test.each(harms)('where %s', async (_, files, harm) => {
    const remote = repository();
    const names = Array.from({ length: files }, (_, i) => [`f${i}`, `${i}`]);
    const sha = remote.commit(Object.fromEntries(names));
    const source = { url: remote.url, sha };
    const steps = ['cat f0'];
    expect((await rig.run({ source, steps })).outcome.detail).toBe('');
    harm(rig.savedCheckout(remote.url), sha);
    const runs = await Promise.all([1, 2, 3].map(() => rig.run({ source, steps })));
    expect(runs.map((run) => [run.outcome.detail, ...run.lines('o')])).toEqual(
      [1, 2, 3].map(() => ['', '0']),
    );
    const next = remote.commit({ f0: 'next' });
    const after = await rig.run({ source: { ...source, sha: next }, steps });
    expect([after.outcome.detail, ...after.lines('o')]).toEqual(['', 'next']);
  });
});

function overwrite(file: string, content: string | Buffer): void {
  chmodSync(file, 0o644);
  writeFileSync(file, content);
}

test('a run that is stopped while it waits for its turn ends at once and keeps nothing', async () => {
  const remote = repository();
  const sha = remote.commit({ f: '1' });
  const name = path.basename(rig.savedCheckout(remote.url), '.git');
  const held = await rig.guards.exclusive(`fetch-${name}`);
  const waiting = rig.start({ source: { url: remote.url, sha }, steps: ['true'] });
  await until('the run to hold the saved checkout', () => {
    const free = rig.guards.try(`git-${name}`, 'exclusive');
    free?.release();
    return free === null;
  });
  waiting.cancel();
  const { outcome, ms } = await waiting.ended;
  expect(outcome).toMatchObject({ result: 'cancelled', steps: [] });
  expect(ms).toBeLessThan(4_000);
  held.release();
  const after = rig.guards.try(`git-${name}`, 'exclusive');
  expect(after).not.toBeNull();
  after?.release();
});

test('a job over its time in its checkout is timed-out', async () => {
  const remote = repository();
  const sha = remote.commit({ f: '1' });
  const name = path.basename(rig.savedCheckout(remote.url), '.git');
  const held = await rig.guards.exclusive(`fetch-${name}`);
  const run = await rig.run({ source: { url: remote.url, sha }, steps: ['true'], timeoutMs: 200 });
  held.release();
  expect(run.outcome).toMatchObject({ result: 'timed-out', reason: 'timeout' });
});

test('the checkout goes the way that the runner’s own environment names, of which no step hears', async () => {
  const forge = await FakeForge.start(rig.cleanup);
  const project = forge.project('team/app');
  const sha = forge.git(project).push({ file: 'through the proxy' });
  const asked: string[] = [];
  const proxy = http.createServer((request, response) => {
    asked.push(request.url ?? '');
    const { pathname, search } = new URL(request.url ?? '');
    const { method, headers } = request;
    const onward = http.request(`${forge.url}${pathname}${search}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  rig.cleanup.defer(() => void proxy.close());
  const url = forge.cloneUrl(project).replace(forge.url, 'http://git.invalid');
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const steps = ['cat file; env | grep -i proxy || echo; echo none'];
  const run = await rig.run({ source: { url, sha }, steps }, { gitEnv: { http_proxy: address } });
  expect(run.lines('o').join('\n')).toMatch(/^through the proxy\s+none$/);
  expect(asked.every((one) => one.startsWith('http://git.invalid/team/app.git/'))).toBe(true);
});

test('the checkout of an agent run has no password of the clone URL, that of a job has', async () => {
  const forge = await FakeForge.start(rig.cleanup);
  const project = forge.project('team/app');
  const sha = forge.git(project).push({ file: 'x' });
  const url = forge.cloneUrl(project).replace('://', '://reader:s3cret-pass@');
  const job = await rig.run({ steps: ['cat .git/config; cat file'], source: { url, sha } });
  expect(job.outcome.result).toBe('passed');
  expect(job.lines('o').join('\n')).toContain('reader:***@');
  const agent: AgentSpec = {
    command: 'plan',
    message: '',
    author: 'alice',
    target: { number: 1, pull: false, title: '', body: '', comments: [] },
    branch: null,
    plan: null,
    session: null,
    base: null,
  };
  const run = await rig.run({ steps: [], agent, source: { url, sha } });
  expect(run.outcome.detail).toBe('this runner does no agent runs');
  const config = readFileSync(path.join(run.paths.src, '.git/config'), 'utf8');
  expect(config).toContain(`url = "${forge.cloneUrl(project)}"`);
  expect(config).not.toContain('s3cret-pass');
});
