import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HeldTree, JobTrees } from '../../../src/runner/runs/job-trees.ts';
import { sweep } from '../../../src/runner/sweep/sweep.ts';
import { readOwner } from '../../../src/shared/owner-file.ts';
import type { OwnerIdentity } from '../../../src/shared/owner-record.ts';
import { type CacheRig, cacheRig, identityOf } from '../../support/cache-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

let cleanup: Cleanup;
let rig: CacheRig;
let trees: JobTrees;
let own: string;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await cacheRig(
    path.join(cleanup.tempDir(), 'dir'),
    path.resolve(import.meta.dirname, '../../../dist'),
  );
  own = path.join(rig.dir.layout.fifos, 'of-a-test');
  trees = new JobTrees(rig.dir, rig.trash, own, 2);
  cleanup.defer(async () => {
    trees.close();
    await rig.trash.settled();
    await rig.files.close();
  });
});
afterEach(() => cleanup.run());

const make = (run: number, facts: Partial<OwnerIdentity> = {}): HeldTree =>
  trees.make(identityOf(rig.dir, { run, namespace: 'one', ...facts }));
const inodeOf = (tree: HeldTree): number => lstatSync(tree.path).ino;
const trashed = (): boolean => readdirSync(rig.dir.layout.trash).length > 0;

/** As a job does that uses nothing of its tree: its script, its log, its processes. */
async function work(tree: HeldTree): Promise<void> {
  // Later than the folders by more than a tick of the clock of inodes.
  const from = performance.now();
  await until('a tick has passed', () => performance.now() - from > 20);
  writeFileSync(path.join(tree.path, 'step-1.sh'), 'true\n');
  writeSync(tree.spool.fd, '0 1 v step 1\n');
  tree.owner.groupGone(5);
}

test('a job that leaves its tree as it was leaves it to the next of its namespace, empty and under that name', async () => {
  const first = make(1);
  const inode = inodeOf(first);
  await work(first);
  first.dispose({ reusable: true });
  first.dispose({ reusable: true });
  expect(readdirSync(rig.dir.layout.jobs)).toEqual([]);
  expect(trashed()).toBe(false);
  const other = make(2, { namespace: 'other' });
  expect(inodeOf(other)).not.toBe(inode);
  const second = make(3);
  expect(inodeOf(second)).toBe(inode);
  expect(path.basename(second.path)).toBe('3-1.0123abcd');
  expect(readdirSync(second.path).toSorted()).toEqual(['log', 'owner.jsonl', 'src', 'tmp']);
  expect(second.spool.size).toBe(0);
  expect(readOwner(second.path)).toMatchObject({ identity: { run: 3 }, groups: [] });
  writeSync(second.spool.fd, 'new\n');
  const bytes = Buffer.alloc(10);
  expect(await second.spool.read(bytes, 0)).toBe(4);
});

describe('a tree goes, and the next job has a new one, where', () => {
  const src = (tree: HeldTree, ...rest: string[]): string => path.join(tree.path, 'src', ...rest);
  const tmp = (tree: HeldTree, ...rest: string[]): string => path.join(tree.path, 'tmp', ...rest);
  const log = (tree: HeldTree): string => path.join(tree.path, 'log');
  const record = (tree: HeldTree): string => path.join(tree.path, 'owner.jsonl');
  test.each<{ what: string; change: (tree: HeldTree) => void; reusable?: boolean }>([
    { what: 'the workspace has a file', change: (tree) => writeFileSync(src(tree, 'a'), '') },
    {
      what: 'the workspace had a file',
      change: (tree) => {
        writeFileSync(src(tree, 'a'), '');
        rmSync(src(tree, 'a'));
      },
    },
    { what: 'a folder has another mode', change: (tree) => chmodSync(tmp(tree), 0o700) },
    {
      what: 'a folder had another mode',
      change: (tree) => {
        const { mode } = lstatSync(tmp(tree));
        chmodSync(tmp(tree), 0o700);
        chmodSync(tmp(tree), mode);
      },
    },
    { what: 'the tree has another mode', change: (tree) => chmodSync(tree.path, 0o755) },
    { what: 'the tree has something else', change: (tree) => writeFileSync(path.join(tree.path, 'x'), '') },
    { what: 'there are artifacts', change: (tree) => mkdirSync(path.join(tree.path, 'artifacts')) },
    {
      what: 'the workspace was replaced',
      change: (tree) => {
        renameSync(src(tree), path.join(tree.path, 'away'));
        mkdirSync(src(tree));
        rmSync(path.join(tree.path, 'away'), { recursive: true });
      },
    },
    {
      what: 'the workspace is a link',
      change: (tree) => {
        rmSync(src(tree), { recursive: true });
        symlinkSync(tmp(tree), src(tree));
      },
    },
    { what: 'the log has another name too', change: (tree) => linkSync(log(tree), `${tree.path}.kept`) },
    {
      what: 'the log is another file',
      change: (tree) => {
        rmSync(log(tree));
        closeSync(openSync(log(tree), 'w'));
      },
    },
    {
      what: 'the owner record is gone',
      change: (tree) => {
        rmSync(record(tree));
        writeFileSync(path.join(tree.path, 'step-2.sh'), '');
      },
    },
    { what: 'the owner record has another mode', change: (tree) => chmodSync(record(tree), 0o400) },
    { what: 'the log has another mode', change: (tree) => chmodSync(log(tree), 0) },
    { what: 'the log is long', change: (tree) => writeSync(tree.spool.fd, Buffer.alloc(1024 * 1024)) },
    {
      what: 'a script is a folder',
      change: (tree) => mkdirSync(path.join(tree.path, 'step-2.sh')),
    },
    { what: 'something of its job may still be at it', change: () => {}, reusable: false },
  ])('$what', async ({ change, reusable = true }) => {
    const first = make(1);
    const inode = inodeOf(first);
    await work(first);
    change(first);
    // It is not gone, so that its number is not given out again.
    const held = openSync(first.path, 'r');
    first.dispose({ reusable });
    expect(existsSync(first.path)).toBe(false);
    expect(inodeOf(make(2))).not.toBe(inode);
    closeSync(held);
    expect(existsSync(own)).toBe(false);
  });
});

test('no more trees wait than slots may want, the latest, and none after the end', async () => {
  const made = [make(1), make(2), make(3, { namespace: 'other' }), make(4)];
  const [, , third] = made;
  const inode = third && inodeOf(third);
  for (const tree of made) await work(tree);
  for (const tree of made.slice(0, 3)) tree.dispose({ reusable: true });
  expect(readdirSync(own)).toHaveLength(2);
  const again = make(5, { namespace: 'other' });
  expect(inodeOf(again)).toBe(inode);
  again.dispose({ reusable: true });
  trees.close();
  expect(readdirSync(own)).toEqual([]);
  made[3]?.dispose({ reusable: true });
  await rig.trash.settled();
  expect([...readdirSync(own), ...readdirSync(rig.dir.layout.jobs)]).toEqual([]);
});

test('a waiting tree that somebody has removed is made anew', async () => {
  const first = make(1);
  await work(first);
  first.dispose({ reusable: true });
  rmSync(own, { recursive: true });
  const second = make(2);
  expect(readOwner(second.path)).toMatchObject({ identity: { run: 2 } });
  expect(readdirSync(path.join(second.path, 'src'))).toEqual([]);
});

test.each<{ what: string; change: (place: string) => void }>([
  { what: 'a file in its workspace', change: (place) => writeFileSync(path.join(place, 'src/late'), '') },
  { what: 'a file beside it', change: (place) => writeFileSync(path.join(place, 'late'), '') },
  {
    what: 'a link in its place',
    change: (place) => {
      renameSync(place, `${place}.away`);
      symlinkSync(`${place}.away`, place);
    },
  },
])('a waiting tree that has got $what is not given on', async ({ change }) => {
  const first = make(1);
  await work(first);
  first.dispose({ reusable: true });
  const [place = ''] = readdirSync(own).map((name) => path.join(own, name));
  // Later than it began to wait by more than a tick of the clock of inodes.
  const from = performance.now();
  await until('a tick has passed', () => performance.now() - from > 20);
  change(place);
  const second = make(2);
  expect(readdirSync(second.path).toSorted()).toEqual(['log', 'owner.jsonl', 'src', 'tmp']);
  expect(readdirSync(path.join(second.path, 'src'))).toEqual([]);
  expect(lstatSync(second.path).isDirectory()).toBe(true);
});

test('what waits when a process is killed is removed by the next sweep', async () => {
  const first = make(1);
  await work(first);
  first.dispose({ reusable: true });
  expect(readdirSync(own)).toHaveLength(1);
  await sweep(rig.dir, rig.trash, 'another');
  expect(existsSync(own)).toBe(false);
});
