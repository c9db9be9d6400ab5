import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findFiles } from '../../../../src/worker/artifacts/find-files.ts';
import { Cleanup } from '../../../support/temp.ts';

const cleanup = new Cleanup();
afterAll(() => cleanup.run());

const root = cleanup.tempDir();
for (const dir of ['dist/deep', '.git', '.hidden', 'näme'])
  mkdirSync(path.join(root, dir), { recursive: true });
for (const file of [
  'a.txt',
  'b.log',
  'dist/x',
  'dist/deep/y',
  '.git/config',
  '.hidden/z',
  'näme/ü',
  'b[1].txt',
]) {
  writeFileSync(path.join(root, file), file);
}
symlinkSync('dist', path.join(root, 'to-dist'));
symlinkSync('../..', path.join(root, 'dist/up'));
symlinkSync('nowhere', path.join(root, 'dangling'));
symlinkSync(`${root}-beside/x`, path.join(root, 'beside'));

const namesOf = async (patterns: string[]): Promise<string[]> =>
  (await findFiles(root, patterns)).files.map(({ name }) => name);

test.each([
  [['dist'], ['dist/deep/y', 'dist/x']],
  [['./dist/'], ['dist/deep/y', 'dist/x']],
  [
    ['*.txt', '*.log'],
    ['a.txt', 'b.log', 'b[1].txt'],
  ],
  [['**/y'], ['dist/deep/y']],
  [['.hidden/**'], ['.hidden/z']],
  [['näme/*'], ['näme/ü']],
  [['.git/**'], []],
  [['to-dist'], ['to-dist']],
  [['dangling'], ['dangling']],
  [['b\\[1\\].txt'], ['b[1].txt']],
])('%o matches %o', async (patterns, files) => {
  expect(await namesOf(patterns)).toEqual(files);
});

test('a dot takes the whole workspace, without .git and without what a link leads to', async () => {
  const names = await namesOf(['.']);
  expect(names).toContain('a.txt');
  expect(names).toContain('.hidden/z');
  expect(names.some((file) => file.startsWith('.git/') || file.startsWith('to-dist/'))).toBe(false);
});

test('a link out of the workspace is left out and named, one beside it with the same beginning too', async () => {
  const found = await findFiles(root, ['dist/up', 'beside']);
  expect(found.files).toEqual([]);
  expect(found.notes.toSorted()).toEqual([
    'beside is a link out of the workspace and is left out',
    'dist/up is a link out of the workspace and is left out',
  ]);
});

test.each(['/etc/*', '../x', 'a/../../b'])('%s leaves the workspace and is refused', async (pattern) => {
  await expect(findFiles(root, [pattern])).rejects.toThrow(`path ${pattern} leaves the workspace`);
});
