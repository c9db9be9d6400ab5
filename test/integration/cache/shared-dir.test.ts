import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeJobTree } from '../../../src/runner/dir/job-tree.ts';
import { openDir } from '../../../src/runner/dir/open-dir.ts';
import { ProcessSeats } from '../../../src/runner/dir/process-seats.ts';
import { type Swept, sweep } from '../../../src/runner/sweep/sweep.ts';
import { isAlive, processStat } from '../../../src/shared/platform/processes.ts';
import { type CacheRig, cacheRig, identityOf, keyOf } from '../../support/cache-rig.ts';
import { otherPidNamespace } from '../../support/other-pid-namespace.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

const dist = path.resolve(import.meta.dirname, '../../../dist');
const cleanup = new Cleanup();
let rig: CacheRig;
beforeEach(async () => {
  rig = await cacheRig(path.join(cleanup.tempDir(), 'dir'), dist);
  cleanup.defer(() => rig.files.close());
});
afterEach(() => cleanup.run());

const soon = (): AbortSignal => AbortSignal.timeout(20_000);
const namespaces = (): string[] => readdirSync(rig.dir.layout.cache);

function start(program: string, ...args: string[]): ChildProcess {
  const file = path.join(dist, 'test', `${program}.js`);
  const child = spawn(process.execPath, [file, rig.dir.layout.root, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.defer(() => void child.kill('SIGKILL'));
  return child;
}

/** A runner that is killed in the middle of a job; gives the pid of the job's process, which lives on. */
async function killedRunner(): Promise<number> {
  const runner = start('cache-owner');
  if (!runner.stdout) throw new Error('no pipe');
  const [line] = (await once(runner.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  cleanup.defer(() => void (isAlive(processStat(pid)) && process.kill(pid, 'SIGKILL')));
  const exited = once(runner, 'exit');
  runner.kill('SIGKILL');
  await exited;
  return pid;
}

describe('the directory', () => {
  test('is made once by many who open it at the same time', async () => {
    const root = path.join(cleanup.tempDir(), 'new');
    const opened = await Promise.all([1, 2, 3, 4, 5].map(() => openDir(root)));
    expect(new Set(opened.map(({ id }) => id)).size).toBe(1);
  });

  test('of a newer format is refused by name', async () => {
    writeFileSync(rig.dir.layout.format, JSON.stringify({ version: 2, id: 'x' }));
    await expect(openDir(rig.dir.layout.root)).rejects.toThrow('format 2');
  });
});

describe('a namespace', () => {
  test('of many jobs with --no-cache is gone after the last, and never under one of them', async () => {
    const users = [1, 2, 3, 4].map(() => start('cache-user', '60'));
    const codes = await Promise.all(users.map(async (user) => ((await once(user, 'exit')) as [number])[0]));
    expect(codes).toEqual([0, 0, 0, 0]);
    expect(namespaces()).toEqual([]);
  });

  test('stays while a second job has it, and goes with that one though it did not ask for it', async () => {
    const first = await rig.namespaces.hold(keyOf('o/n'), soon());
    const second = await rig.namespaces.hold(keyOf('o/n'), soon());
    first.release({ remove: true });
    expect(existsSync(second.path)).toBe(true);
    second.release({ remove: false });
    expect(namespaces()).toEqual([]);
  });

  test('in use is passed over by the trimmer, which says so, and evicted after', async () => {
    const held = await rig.namespaces.hold(keyOf('o/n'), soon());
    writeFileSync(path.join(held.path, 'file'), 'x'.repeat(10_000));
    const trimmer = rig.trimmer();
    expect((await trimmer.trim())?.cache).toMatchObject({ removed: [], busy: [held.name] });
    expect(rig.warnings).toContain('over its limit until what is in use finishes');
    held.release({ remove: false });
    expect((await trimmer.trim())?.cache.removed).toEqual([held.name]);
    expect(existsSync(held.path)).toBe(false);
  });

  test('that a job replaced by a link is unlinked and made anew', async () => {
    const victim = cleanup.tempDir();
    writeFileSync(path.join(victim, 'keep'), 'x');
    const first = await rig.namespaces.hold(keyOf('o/n'), soon());
    rmSync(first.path, { recursive: true });
    symlinkSync(victim, first.path);
    first.release({ remove: false });
    const second = await rig.namespaces.hold(keyOf('o/n'), soon());
    expect(readdirSync(second.path)).toEqual([]);
    second.release({ remove: true });
    expect(readdirSync(victim)).toEqual(['keep']);
  });

  test('is busy while a process of a killed runner may use it, and free when the next start has ended it', async () => {
    const pid = await killedRunner();
    expect((await rig.trimmer().trim())?.cache.removed).toEqual([]);
    const { dead, lines } = await sweepAs('one');
    await until('the process is gone', () => !isAlive(processStat(pid)));
    expect(dead).toMatchObject([{ run: 7, attempt: 1, account: 'build1' }]);
    expect(lines.join()).toContain('swept run 7 attempt 1');
    for (const run of dead) run.dispose();
    expect(readdirSync(rig.dir.layout.jobs)).toEqual([]);
    expect((await rig.trimmer().trim())?.cache.removed).toHaveLength(1);
  });
});

/** A sweep by a process of that name, which lives until the test ends. */
async function sweepAs(name: string): Promise<Swept> {
  const seat = new ProcessSeats(rig.dir).take(name);
  cleanup.defer(() => seat.release());
  return await sweep(rig.dir, rig.trash, name);
}

describe('a sweep', () => {
  test('never takes the tree of a live job, however old its time', async () => {
    const seat = new ProcessSeats(rig.dir).take('live');
    const tree = makeJobTree(rig.dir, rig.trash, identityOf(rig.dir, { process: 'live', pidStart: '1' }));
    utimesSync(tree.path, 1, 1);
    expect((await sweepAs('one')).dead).toEqual([]);
    expect(existsSync(tree.path)).toBe(true);
    tree.dispose();
    expect(readdirSync(rig.dir.layout.jobs)).toEqual([]);
    seat.release();
  });

  test('reports a dead run once, however many sweep at the same time', async () => {
    await killedRunner();
    const swept = await Promise.all([sweepAs('one'), sweepAs('two')]);
    expect(swept.flatMap(({ dead }) => dead)).toHaveLength(1);
  });

  test('takes a reused pid of an earlier boot for dead, and one of another pid namespace for unknown', async () => {
    const pidNamespace = await otherPidNamespace(cleanup);
    if (pidNamespace === null) return; // not as this user
    const earlier = makeJobTree(rig.dir, rig.trash, identityOf(rig.dir, { bootId: 'other' }));
    const moved = path.join(rig.dir.layout.jobs, '8-1.0123abcd');
    renameSync(earlier.path, moved);
    const elsewhere = makeJobTree(rig.dir, rig.trash, identityOf(rig.dir, { run: 9, pidNamespace }));
    renameSync(elsewhere.path, path.join(rig.dir.layout.jobs, '10-1.0123abcd'));
    const { dead, lines } = await sweepAs('one');
    expect(dead).toHaveLength(1);
    expect(lines.join()).toContain('left tree 10-1.0123abcd');
  });

  test('finishes what a kill left half removed, and says so', async () => {
    mkdirSync(path.join(rig.dir.layout.trash, 'half', 'deep'), { recursive: true });
    const { lines } = await sweepAs('one');
    expect(lines).toContain('finishing 1 interrupted removal');
    await rig.trash.settled();
    expect(readdirSync(rig.dir.layout.trash)).toEqual([]);
  });

  test('leaves what is no tree of ours and goes on', async () => {
    mkdirSync(path.join(rig.dir.layout.jobs, 'a b'));
    const { lines } = await sweepAs('one');
    expect(lines.join()).toContain('left a b');
  });
});

test('a workspace replaced by a link elsewhere is only unlinked', async () => {
  const victim = cleanup.tempDir();
  writeFileSync(path.join(victim, 'keep'), 'x');
  const tree = makeJobTree(rig.dir, rig.trash, identityOf(rig.dir));
  rmSync(path.join(tree.path, 'src'), { recursive: true });
  symlinkSync(victim, path.join(tree.path, 'src'));
  tree.dispose();
  const second = makeJobTree(rig.dir, rig.trash, identityOf(rig.dir));
  rmSync(second.path, { recursive: true });
  symlinkSync(victim, second.path);
  second.dispose();
  await rig.trash.settled();
  expect(readdirSync(victim)).toEqual(['keep']);
  expect(readdirSync(rig.dir.layout.trash)).toEqual([]);
});

test('closing in the middle of a removal loses nothing and rejects nowhere', async () => {
  const folder = path.join(rig.dir.layout.root, 'large');
  mkdirSync(folder);
  for (let n = 0; n < 2000; n++) writeFileSync(path.join(folder, `${n}`), '');
  rig.trash.put(folder);
  await rig.files.close();
  await rig.trash.settled();
  expect(readFileSync(rig.dir.layout.format, 'utf8')).toContain(rig.dir.id);
});
