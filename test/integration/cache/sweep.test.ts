import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeJobTree, treeGuardName } from '../../../src/runner/dir/job-tree.ts';
import { sweep } from '../../../src/runner/sweep/sweep.ts';
import { isAlive, processStat } from '../../../src/shared/platform/processes.ts';
import { CacheRig, DEAD } from '../../support/cache-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

let cleanup: Cleanup;
let rig: CacheRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await CacheRig.open(cleanup.tempDir(), cleanup);
});
afterEach(() => cleanup.run());

const trees = (): string[] => readdirSync(rig.dir.layout.jobs);

/** A process that left its job's group and session, with the job's mark in its environment. */
async function stray(marker: string): Promise<ChildProcess> {
  const child = spawn('sleep', ['60'], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, VOLE_JOB_MARKER: marker },
  });
  cleanup.defer(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child;
}

describe('a start', () => {
  it('ends what a dead runner left of a job, and removes the tree when its run was told of', async () => {
    const identity = rig.identity({ ...DEAD, marker: `${rig.dir.id}/sweep-test` });
    const escaped = await stray(identity.marker);
    const member = await stray('another');
    const start = processStat(member.pid ?? 0)?.start ?? '';
    const tree = rig.leaveTree(identity, [{ what: 'group', pgid: member.pid ?? 0, start }]);
    const name = await rig.fill('team/app');
    rmSync(path.join(tree, 'owner.jsonl'));
    writeFileSync(
      path.join(tree, 'owner.jsonl'),
      `${JSON.stringify({ ...identity, namespace: name })}\n${JSON.stringify({ what: 'group', pgid: member.pid, start })}\n`,
    );
    expect(rig.namespaces.removeIfFree(name)).toBe('busy'); // its processes live
    const { dead, lines } = await sweep(rig.dir, rig.trash);
    for (const child of [escaped, member]) {
      await until('it is gone', () => !isAlive(processStat(child.pid ?? 0)), 2_000);
    }
    expect(dead).toMatchObject([{ run: 1, attempt: 1, server: 'srv', account: 'build1' }]);
    expect(lines).toEqual(['swept run 1 attempt 1, whose runner has died']);
    expect(existsSync(tree)).toBe(true); // the rest of its log can still be sent
    dead[0]?.dispose();
    expect(trees()).toEqual([]);
    expect(rig.namespaces.removeIfFree(name)).toBe('removed');
  });

  it('kills nobody whose pid or group number was reused', async () => {
    const innocent = await stray('innocent');
    const pid = innocent.pid ?? 0;
    rig.leaveTree(rig.identity({ pid, pidStart: '1' }), [{ what: 'group', pgid: pid, start: '1' }]);
    const { dead } = await sweep(rig.dir, rig.trash);
    expect(dead).toHaveLength(1);
    expect(isAlive(processStat(pid))).toBe(true);
  });

  it.each([
    {
      of: 'another pid namespace',
      change: { pidNamespace: 'pid:[1]', ...DEAD },
      line: /cannot be looked up/,
    },
    { of: 'another directory', change: { directory: 'another', ...DEAD }, line: /cannot be looked up/ },
    { of: 'a runner that lives', change: {}, line: null },
  ])('leaves a tree of $of alone', async ({ change, line }) => {
    rig.leaveTree(rig.identity(change));
    const { dead, lines } = await sweep(rig.dir, rig.trash);
    expect(dead).toEqual([]);
    if (line) expect(lines.join()).toMatch(line);
    expect(trees()).toEqual(['1-1.srv']);
  });

  it('takes a tree of an earlier boot, whose pids mean nothing now', async () => {
    rig.leaveTree(rig.identity({ bootId: 'another', pidNamespace: 'pid:[1]' }));
    const { dead } = await sweep(rig.dir, rig.trash);
    dead[0]?.dispose();
    expect(trees()).toEqual([]);
  });

  it('leaves a tree alone whose record cannot be read, and says so', async () => {
    const tree = rig.leaveTree(rig.identity());
    writeFileSync(path.join(tree, 'owner.jsonl'), '\0\0\0');
    const { dead, lines } = await sweep(rig.dir, rig.trash);
    expect([dead.length, lines, trees()]).toEqual([
      0,
      ['left tree 1-1.srv: its owner record cannot be read'],
      ['1-1.srv'],
    ]);
  });

  it('reads a record whose last line was torn by a crash', async () => {
    const tree = rig.leaveTree(rig.identity(DEAD));
    writeFileSync(path.join(tree, 'owner.jsonl'), `${JSON.stringify(rig.identity(DEAD))}\n{"what":"gro`);
    expect((await sweep(rig.dir, rig.trash)).dead).toHaveLength(1);
  });

  it('removes a tree without a record, and one that was being made long ago', async () => {
    const { jobs } = rig.dir.layout;
    mkdirSync(path.join(jobs, '2-1.srv/src'), { recursive: true });
    mkdirSync(path.join(jobs, '.new-abc'));
    const { lines } = await sweep(rig.dir, rig.trash);
    expect(lines).toEqual(['removed tree 2-1.srv, which has no owner record']);
    expect(trees()).toEqual(['.new-abc']); // just made: its maker may live
  });

  it('never takes the tree of a live job, however old its times look and from whatever namespace', async () => {
    const made = await makeJobTree(rig.dir, rig.trash, rig.identity({ ...DEAD }));
    utimesSync(made.path, 1, 1);
    utimesSync(path.join(made.path, 'src'), 1, 1);
    const { dead, lines } = await sweep(rig.dir, rig.trash);
    expect([dead, lines, trees()]).toEqual([[], [], ['1-1.srv']]);
    made.dispose();
    made.dispose();
    expect(trees()).toEqual([]);
  });

  it('removes the fifos of processes that are gone, and says which removals it finishes', async () => {
    const { fifos, trash } = rig.dir.layout;
    mkdirSync(path.join(fifos, 'dead'), { recursive: true });
    mkdirSync(path.join(fifos, 'alive'));
    const alive = rig.dir.guards.try('process-alive', 'exclusive');
    mkdirSync(path.join(trash, 'half/way'), { recursive: true });
    const { lines } = await sweep(rig.dir, rig.trash);
    expect(lines).toEqual(['finishing 1 interrupted removals']);
    await rig.trash.settled();
    expect([readdirSync(fifos), readdirSync(trash)]).toEqual([['alive'], []]);
    alive?.release();
  });

  it('by several processes at once takes each tree once', async () => {
    for (let run = 1; run <= 20; run += 1) {
      rig.leaveTree(rig.identity({ ...DEAD, run, marker: `m${run}` }));
    }
    const other = await CacheRig.open(rig.dir.layout.root, cleanup);
    const both = await Promise.all([sweep(rig.dir, rig.trash), sweep(other.dir, other.trash)]);
    const runs = both.flatMap(({ dead }) => dead.map(({ run }) => run));
    expect(runs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    for (const { dead } of both) for (const one of dead) one.dispose();
    expect(trees()).toEqual([]);
  });
});

describe('a job tree', () => {
  it('whose workspace became a link is removed with the link, and what it names stays', async () => {
    const victim = cleanup.tempDir();
    writeFileSync(path.join(victim, 'keep'), 'x');
    const made = await makeJobTree(rig.dir, rig.trash, rig.identity());
    const src = path.join(made.path, 'src');
    rmSync(src, { recursive: true });
    symlinkSync(victim, src);
    lutimesSync(src, 1, 1);
    made.dispose();
    await rig.trash.settled();
    expect([readdirSync(victim), trees(), readdirSync(rig.dir.layout.trash)]).toEqual([['keep'], [], []]);
  });

  it('that became a link itself is unlinked', async () => {
    const victim = cleanup.tempDir();
    writeFileSync(path.join(victim, 'keep'), 'x');
    const made = await makeJobTree(rig.dir, rig.trash, rig.identity());
    rmSync(made.path, { recursive: true });
    symlinkSync(victim, made.path);
    made.dispose();
    await rig.trash.settled();
    expect([readdirSync(victim), trees(), readdirSync(rig.dir.layout.trash)]).toEqual([['keep'], [], []]);
  });

  it('waits for who has its name, until it is told to stop', async () => {
    const guard = rig.dir.guards.try(treeGuardName('1-1.srv'), 'exclusive');
    const making = makeJobTree(rig.dir, rig.trash, rig.identity(), { signal: AbortSignal.timeout(50) });
    await expect(making).rejects.toThrow();
    expect(trees()).toEqual([]);
    guard?.release();
  });
});
