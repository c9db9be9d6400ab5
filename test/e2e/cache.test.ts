import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { CacheRig, DEAD } from '../support/runner-dir-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { vole } from '../support/vole-process.ts';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');

let cleanup: Cleanup;
let dir: string;
beforeEach(() => {
  cleanup = new Cleanup();
  dir = path.join(cleanup.tempDir(), 'dir');
});
afterEach(() => cleanup.run());

const cache = (what: string, ...args: string[]) => vole(['cache', what, '--dir', dir, ...args]);
const all = ['--cache-size', '1', '--git-size', '1', '--min-free', '0'];

it.skipIf(process.getuid?.() !== 0)(
  'a removal that is withstood fails the command, and says that the room is not free',
  async () => {
    const rig = await CacheRig.open(dir, cleanup);
    const name = await rig.fill('team/app');
    const file = path.join(dir, 'cache', name, 'kept');
    writeFileSync(file, '');
    execFileSync('chattr', ['+i', file]);
    cleanup.defer(() => void execFileSync('sh', ['-c', `chattr -R -i ${dir}`]));
    const cleared = await cache('clear');
    expect(cleared).toMatchObject({ code: 74, stderr: expect.stringMatching(/cannot delete .*kept/) });
    expect(cleared.stdout).toMatch(
      /removed 1 \(.*\)\n(saved checkouts: .*\n)?not all of it could be deleted, and its room is not free/,
    );
    expect((await cache('trim', '--json', ...all)).code).toBe(74);
  },
);

describe('vole cache beside a live runner', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await Rig.start();
    dir = path.join(rig.root, 'dir');
  });
  afterEach(() => rig.close());

  it('lists what there is, and removes all but what a job uses, which it names', async () => {
    const gate = path.join(rig.root, 'go');
    const steps = [
      `head -c 200000 /dev/zero > $VOLE_CACHE/f; echo begun; until [ -e ${gate} ]; do sleep 0.02; done`,
    ];
    await rig.repository('team/app', { job: { checkout: true, steps } });
    rig.runner();
    const [id = 0] = await rig.submit('team/app');
    await rig.logHas(id, 'begun');
    const beside = await CacheRig.open(dir, rig.cleanup);
    const free = await beside.fill('team/free', 100_000);

    const listed = await cache('ls');
    expect(listed.stdout).toMatch(/^cache {2}team-app-\w+ +team\/app trusted host +20\d KiB .*in use$/m);
    expect(listed.stdout).toMatch(/^cache {2}team-free-\w+ +team\/free trusted host +10\d KiB +\S+$/m);
    expect(listed.stdout).toMatch(/^git {4}team-app-\w+ +- +\d+(\.\d)? KiB .*in use$/m);
    expect(listed.stdout).toMatch(/^namespaces: 3\d\d KiB of .*; saved checkouts: \d+(\.\d)? KiB of /m);
    const { stored } = JSON.parse((await cache('ls', '--json')).stdout) as { stored: { name: string }[] };
    expect(stored).toHaveLength(3);

    const trimmed = await cache('trim', ...all);
    expect(trimmed.stdout).toMatch(/namespaces: removed 1 .*skipped, in use: team-app-/);
    expect(trimmed.stdout).toMatch(/saved checkouts: removed 0 .*skipped, in use: team-app-/);
    expect(beside.namespaces.records.names()).not.toContain(free);
    await beside.fill('team/free', 100_000);
    expect((await cache('clear')).stdout).toMatch(
      /^namespaces: removed 1 \(10\d KiB\); skipped, in use: team-app-\w+\nsaved checkouts: kept 1 \(\d+(\.\d)? KiB\): team-app-\w+\n$/,
    );
    const verified = await cache('verify');
    expect(verified.stdout).toMatch(/^skipped, in use: cache\/team-app-\w+\nno faults\n$/);
    expect(verified.code).toBe(0);

    writeFileSync(gate, '');
    expect((await rig.ended(id)).state).toBe('passed');
    expect((await cache('trim', ...all)).stdout).toMatch(/removed 1 .*\n.*removed 1 /);
    expect([readdirSync(path.join(dir, 'cache')), readdirSync(path.join(dir, 'git'))]).toEqual([[], []]);
  });

  it('clears what is free, and no more, when another runner starts with --no-cache', async () => {
    const gate = path.join(rig.root, 'go');
    const steps = [
      `echo x > $VOLE_CACHE/f; echo begun; until [ -e ${gate} ]; do sleep 0.02; done; cat $VOLE_CACHE/f`,
    ];
    await rig.repository('team/app', { job: { steps } });
    const first = rig.runner();
    const [id = 0] = await rig.submit('team/app');
    await rig.logHas(id, 'begun');
    const beside = await CacheRig.open(dir, rig.cleanup);
    const free = await beside.fill('team/free');
    const second = rig.runner(['--no-cache']);
    await second.says(/ready/);
    expect(second.stderr).toMatch(/"removed":1,"inUse":1,.*cleared the cache/);
    expect(beside.namespaces.records.names()).toHaveLength(1);
    expect(beside.namespaces.records.names()).not.toContain(free);
    writeFileSync(gate, '');
    expect((await rig.ended(id)).state).toBe('passed');
    for (const runner of [first, second]) runner.kill('SIGTERM');
    await Promise.all([first.ended, second.ended]);
    expect(beside.namespaces.records.names()).toHaveLength(1); // the first builds with its cache
  });

  it('says of an owner record that cannot be read what it costs and what to do, and removes it when it may', async () => {
    const runner = rig.runner();
    await runner.says(/ready/);
    const beside = await CacheRig.open(dir, rig.cleanup);
    await beside.fill('team/free');
    const tree = beside.leaveTree(beside.identity(DEAD));
    writeFileSync(path.join(tree, 'owner.jsonl'), ''); // as a host leaves it that lost power
    const name = path.basename(tree);

    const trimmed = await cache('trim', ...all);
    expect(trimmed.stdout).toContain('removed 0');
    expect(trimmed.stderr).toContain(`jobs/${name} has an owner record that cannot be read`);
    const verified = await cache('verify');
    expect(verified.code).toBe(74);
    expect(verified.stdout).toContain(`jobs/${name} has an owner record that cannot be read`);
    expect(verified.stdout).toContain('stop them, then run `vole cache verify` again');

    runner.kill('SIGTERM');
    await runner.ended;
    const again = await cache('verify');
    expect(again).toMatchObject({
      code: 0,
      stdout: `removed jobs/${name}, which had an owner record that cannot be read\nno faults\n`,
    });
    expect([readdirSync(path.join(dir, 'jobs')), readdirSync(path.join(dir, 'trash'))]).toEqual([[], []]);
    expect((await cache('trim', ...all)).stdout).toContain('removed 1');
  });
});

describe('vole cache verify', () => {
  it('removes a saved checkout that is damaged, and keeps one that is whole', async () => {
    const rig = await CacheRig.open(dir, cleanup);
    const git = (name: string, ...args: string[]): string =>
      execFileSync('git', args, { cwd: rig.dir.layout.savedCheckout(name), encoding: 'utf8' }).trim();
    const file = path.join(dir, 'file');
    writeFileSync(file, 'x');
    for (const name of ['whole', 'broken']) {
      mkdirSync(rig.dir.layout.savedCheckout(name));
      git(name, 'init', '-q', '--bare', '.');
      git(name, 'update-ref', 'refs/vole/one', git(name, 'hash-object', '-w', file));
    }
    const blob = git('broken', 'rev-parse', 'refs/vole/one');
    const object = path.join(
      rig.dir.layout.savedCheckout('broken'),
      'objects',
      blob.slice(0, 2),
      blob.slice(2),
    );
    renameSync(object, `${object}.away`);
    writeFileSync(object, 'damaged');
    const held = rig.dir.guards.try('git-broken', 'shared');
    expect((await cache('verify')).stdout).toContain('git/broken.git is damaged and in use');
    held?.release();
    const alone = rig.dir.guards.try('git-broken', 'exclusive');
    expect((await cache('verify')).stdout).toBe('skipped, in use: git/broken.git\nno faults\n');
    alone?.release();
    expect((await cache('verify')).stdout).toMatch(
      /^removed git\/broken\.git, which is damaged: .+\nno faults\n$/,
    );
    expect(readdirSync(rig.dir.layout.git)).toEqual(['whole.git']);
  });

  it('leaves a tree whose processes run, and names them', async () => {
    const rig = await CacheRig.open(dir, cleanup);
    const tree = path.join(rig.dir.layout.jobs, '7-1.0123abcd');
    mkdirSync(tree);
    const env = { ...process.env, VOLE_JOB_MARKER: `${rig.dir.id}/7-1.0123abcd` };
    const running = execFile('sleep', ['1000'], { env });
    cleanup.defer(() => void running.kill('SIGKILL'));
    mkdirSync(path.join(rig.dir.layout.jobs, 'of a person'));
    const { stdout, code } = await cache('verify');
    expect(code).toBe(74);
    expect(stdout).toContain("jobs/of a person has no owner record, and no tree of vole's has such a name");
    expect(stdout).toContain(`1 process of its job runs (${running.pid}): end it, then run`);
    expect(readdirSync(rig.dir.layout.jobs)).toEqual(['7-1.0123abcd', 'of a person']);
  });
});

describe.skipIf(!hasScript())('what takes longer than two seconds', () => {
  const commands = ['ls', 'trim', 'clear', 'verify'];

  /** What the four commands print while somebody keeps their directory from being opened for so long. */
  async function delayed(ms: number, onTerminal: boolean): Promise<string[]> {
    const running = commands.map(async (what) => {
      const root = path.join(cleanup.tempDir(), 'dir');
      const rig = await CacheRig.open(root, cleanup);
      for (let n = 0; n < 20; n += 1) await rig.fill(`team/r${n}`);
      execFileSync('git', ['init', '-q', '--bare', rig.dir.layout.savedCheckout('x')]);
      const held = await rig.dir.guards.exclusive('format');
      const line = `${process.execPath} ${bin} cache ${what} --dir ${root}`;
      const [file, args] = onTerminal ? ['script', ['-qec', line, '/dev/null']] : ['sh', ['-c', line]];
      const done = promisify(execFile)(file, args, { env: { ...process.env, TERM: 'xterm' } });
      await delay(ms);
      held.release();
      return (await done).stdout;
    });
    return await Promise.all(running);
  }

  it('has a bar on a terminal, which is gone at the end', async () => {
    let said: string[];
    let ms = 2_000;
    do {
      ms *= 2; // how long a program takes to start is the machine's doing
      said = await delayed(ms, true);
    } while (ms < 32_000 && !said.every((text) => text.includes('  [')));
    const [ls = '', trim = '', clear = '', verify = ''] = said;
    expect(ls).toMatch(/measuring {2}\[#*-*\] {2}\d+ of \d+/);
    expect(trim).toMatch(/measuring|evicting|deleting/);
    expect(clear).toMatch(/(evicting|deleting) {2}\[/);
    expect(verify).toMatch(/verifying {2}\[/);
    for (const text of said) expect(text.slice(text.lastIndexOf('\u001b[J'))).not.toContain('[#');
  }, 120_000);

  it('says nothing of it on a pipe', async () => {
    for (const text of await delayed(3_000, false)) expect(text).not.toContain('\u001b');
  });
});

function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version']).toString().includes('util-linux');
  } catch {
    return false;
  }
}

it('looks at what `vole run` keeps, where no directory is given, and says so', async () => {
  const home = path.dirname(dir);
  const env = { XDG_CACHE_HOME: home };
  const none = await vole(['cache', 'ls'], { env });
  expect([none.code, none.stderr]).toEqual([
    66,
    `vole: \`vole run\` has kept nothing in ${home}/vole: give a runner's --dir DIR\n`,
  ]);
  const rig = await CacheRig.open(path.join(home, 'vole'), cleanup);
  const name = await rig.fill('team/app');
  const listed = await vole(['cache', 'ls'], { env });
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining(name)]);
  expect(listed.stderr).toBe(
    `vole: ${home}/vole, where \`vole run\` keeps its caches; --dir DIR names a runner's\n`,
  );
});
