import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FileThreads } from '../../../src/runner/dir/file-threads.ts';
import { manyFiles } from '../../support/many-files.ts';
import { Cleanup } from '../../support/temp.ts';

const built = path.resolve(import.meta.dirname, '../../../dist/file-thread.js');

let cleanup: Cleanup;
let root: string;
let threads: FileThreads;
beforeEach(() => {
  cleanup = new Cleanup();
  root = path.join(cleanup.tempDir(), 'root');
  threads = new FileThreads(built);
  cleanup.defer(() => threads.close());
});
afterEach(() => cleanup.run());

function du(file: string): number {
  return Number(execFileSync('du', ['-s', '-B512', file], { encoding: 'utf8' }).split('\t')[0]) * 512;
}

it('a large tree is measured as du measures it, again and again, alone and beside others', async () => {
  manyFiles(root, 6_000);
  writeFileSync(path.join(root, 'd1/linked'), Buffer.alloc(5_000, 1));
  for (let n = 2; n <= 12; n += 1) linkSync(path.join(root, 'd1/linked'), path.join(root, `d${n}/linked`));
  const whole = du(root);
  const parts = Array.from({ length: 12 }, (_, n) => path.join(root, `d${n + 1}`));
  expect(await threads.measure(root)).toBe(whole);
  const [first, second, ...each] = await Promise.all([root, root, ...parts].map((at) => threads.measure(at)));
  expect([first, second]).toEqual([whole, whole]);
  expect(each).toEqual(parts.map(du));
  expect(threads.entries).toBeGreaterThan(20_000);
});

it('they step back before the main thread where there are too few cores', async () => {
  const nice = (thread: string): string => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')')).split(' ')[17] ?? '';
  };
  const before = new Set(readdirSync('/proc/self/task'));
  const own = Number(nice(`${process.pid}`));
  await threads.measure(path.dirname(root));
  const niced = readdirSync('/proc/self/task')
    .filter((thread) => !before.has(thread))
    .map(nice);
  expect(niced).toContain('5');
  expect(Number(nice(`${process.pid}`))).toBe(own);
});

it('many trees are deleted, and what is measured meanwhile is not kept waiting by them', async () => {
  manyFiles(root, 6_000);
  const small = path.join(path.dirname(root), 'small');
  mkdirSync(small);
  const removals = readdirSync(root).map((name) => threads.remove(path.join(root, name)));
  expect(await threads.measure(small)).toBe(du(small));
  expect(readdirSync(root).length).toBeGreaterThan(0);
  expect((await Promise.all(removals)).flat()).toEqual([]);
  expect(readdirSync(root)).toEqual([]);
});

it('what is asked when they are closed is rejected, and so is what waits', async () => {
  manyFiles(root, 5_000);
  const asked = readdirSync(root).map((name) => threads.remove(path.join(root, name)));
  const ends = Promise.allSettled(asked);
  await threads.close();
  expect((await ends).some(({ status }) => status === 'rejected')).toBe(true);
  await expect(threads.measure(root)).rejects.toThrow('closed');
  expect(existsSync(root)).toBe(true);
});

it('a file system that does not tell what its entries are is measured and emptied too', async () => {
  const image = path.join(path.dirname(root), 'image');
  mkdirSync(root);
  try {
    execFileSync('truncate', ['-s', '8M', image]);
    execFileSync('mkfs.ext4', ['-q', '-O', '^filetype', image], { stdio: 'ignore' });
    execFileSync('mount', ['-o', 'loop', image, root], { stdio: 'ignore' });
  } catch {
    return; // not as this user
  }
  cleanup.defer(() => void execFileSync('umount', [root]));
  const tree = path.join(root, 'tree');
  mkdirSync(Buffer.concat([Buffer.from(`${tree}/a/`), Buffer.from([0xff, 0xfe])]), { recursive: true });
  for (const name of ['f', 'é', 'a/b']) writeFileSync(path.join(tree, name), Buffer.alloc(10_000, 1));
  expect(await threads.measure(tree)).toBe(du(tree));
  expect(await threads.remove(tree)).toEqual([]);
  expect(existsSync(tree)).toBe(false);
});

it('where the thread cannot start, each question is rejected and none waits for ever', async () => {
  const broken = new FileThreads(path.join(path.dirname(root), 'none.js'));
  cleanup.defer(() => broken.close());
  const ends = await Promise.allSettled([1, 2, 3].map(() => broken.measure('/')));
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});
