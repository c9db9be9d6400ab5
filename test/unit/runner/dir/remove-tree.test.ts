import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { measureTree } from '../../../../src/runner/dir/measure-tree.ts';
import { removeTree } from '../../../../src/runner/dir/remove-tree.ts';
import { Cleanup } from '../../../support/temp.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

/** Directories 0555 and files 0444, as the Go module cache has them. */
function moduleCache(root: string, folders: number, files: number): void {
  for (let n = 0; n < folders; n++) {
    const folder = path.join(root, `module-${n}`, 'pkg');
    mkdirSync(folder, { recursive: true });
    for (let m = 0; m < files; m++) writeFileSync(path.join(folder, `f${m}`), 'x', { mode: 0o444 });
    chmodSync(folder, 0o555);
    chmodSync(path.dirname(folder), 0o555);
  }
  chmodSync(root, 0o555);
}

test('read-only directories and files are deleted', () => {
  const root = path.join(cleanup.tempDir(), 'cache');
  moduleCache(root, 50, 100);
  expect(removeTree(root)).toEqual([]);
  expect(existsSync(root)).toBe(false);
}, 30_000);

test.runIf(process.getuid?.() === 0)('read-only directories are deleted by a plain user too', async () => {
  // The folder for temporary files may be one that only its owner can enter.
  const dir = mkdtempSync('/tmp/vole-test-');
  cleanup.defer(() => rmSync(dir, { recursive: true, force: true }));
  chmodSync(dir, 0o777);
  const root = path.join(dir, 'cache');
  moduleCache(root, 5, 20);
  execFileSync('chown', ['-R', '65534:65534', root]);
  // Only the effective ids of this process, and back before anything else runs.
  process.setegid?.(65534);
  process.seteuid?.(65534);
  let left: string[];
  try {
    left = removeTree(root);
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
  expect(left).toEqual([]);
  expect(existsSync(root)).toBe(false);
});

test('links are unlinked and not followed, below and at the top', () => {
  const dir = cleanup.tempDir();
  const victim = path.join(dir, 'victim');
  mkdirSync(victim);
  writeFileSync(path.join(victim, 'keep'), 'x');
  const root = path.join(dir, 'root');
  mkdirSync(path.join(root, 'a'), { recursive: true });
  symlinkSync(victim, path.join(root, 'a', 'out'));
  symlinkSync('/etc', path.join(root, 'etc'));
  symlinkSync('loop', path.join(root, 'loop'));
  symlinkSync('..', path.join(root, 'a', 'up'));
  expect(removeTree(root)).toEqual([]);
  symlinkSync(victim, root);
  expect(removeTree(root)).toEqual([]);
  expect(lstatSync(root, { throwIfNoEntry: false })).toBeUndefined();
  expect(readdirSync(victim)).toEqual(['keep']);
});

test('a tree deeper than the longest path is deleted', () => {
  const dir = cleanup.tempDir();
  const root = path.join(dir, 'root');
  const script =
    'fs.mkdirSync(process.argv[1]); process.chdir(process.argv[1]); for (let n = 0; n < 1500; n++) { fs.mkdirSync("dir"); process.chdir("dir"); } fs.writeFileSync("file", Buffer.alloc(10_000, 1))';
  execFileSync(process.execPath, ['-e', script, root]);
  expect(measureTree(root)).toBeGreaterThan(0);
  expect(removeTree(root)).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
}, 30_000);

test('names that are not UTF-8 are measured and deleted, in folders that have them too', () => {
  const dir = cleanup.tempDir();
  const root = path.join(dir, 'root');
  const odd = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x64, 0xff])]);
  const inOdd = Buffer.concat([odd, Buffer.from([0x2f, 0xfe])]);
  mkdirSync(odd, { recursive: true });
  writeFileSync(inOdd, Buffer.alloc(100_000));
  mkdirSync(Buffer.concat([inOdd, Buffer.from('-empty')]));
  const du = execFileSync('du', ['-s', '-B', '512', root], { encoding: 'utf8' });
  expect(measureTree(root)).toBe(Number(du.split('\t')[0]) * 512);
  expect(removeTree(root)).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});

test('what withstands is named, and all else is gone', () => {
  const root = path.join(cleanup.tempDir(), 'root');
  mkdirSync(path.join(root, 'a'), { recursive: true });
  writeFileSync(path.join(root, 'a', 'file'), 'x');
  try {
    execFileSync('chattr', ['+i', path.join(root, 'a', 'file')], { stdio: 'ignore' });
  } catch {
    return; // not this file system, or not root
  }
  writeFileSync(path.join(root, 'other'), 'x');
  const left = removeTree(root);
  execFileSync('chattr', ['-i', path.join(root, 'a', 'file')]);
  expect(left).toHaveLength(1);
  expect(left[0]).toContain('a/file');
  expect(readdirSync(root)).toEqual(['a']);
  expect(removeTree(root)).toEqual([]);
});

test('what is not there is removed without a word', () => {
  expect(removeTree(path.join(cleanup.tempDir(), 'none'))).toEqual([]);
});

test('a tree is measured as du does: blocks, hard links once, links not followed', () => {
  const root = path.join(cleanup.tempDir(), 'root');
  mkdirSync(path.join(root, 'a'), { recursive: true });
  writeFileSync(path.join(root, 'a', 'one'), Buffer.alloc(100_000));
  execFileSync('ln', [path.join(root, 'a', 'one'), path.join(root, 'two')]);
  execFileSync('truncate', ['-s', '10M', path.join(root, 'sparse')]);
  symlinkSync('/usr', path.join(root, 'usr'));
  symlinkSync('loop', path.join(root, 'loop'));
  const du = execFileSync('du', ['-s', '-B', '512', root], { encoding: 'utf8' });
  expect(measureTree(root)).toBe(Number(du.split('\t')[0]) * 512);
});
