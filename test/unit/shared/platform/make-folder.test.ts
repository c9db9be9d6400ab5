import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeFolder } from '../../../../src/shared/platform/make-folder.ts';
import { Cleanup } from '../../../support/temp.ts';

let cleanup: Cleanup;
let root: string;
beforeEach(() => {
  cleanup = new Cleanup();
  root = cleanup.tempDir('vole-make-folder-');
});
afterEach(() => cleanup.run());

it('makes a directory with its parents, and says whether it did', () => {
  const folder = path.join(root, 'a/b/c');
  expect(makeFolder(folder, 0o700)).toBe(true);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(makeFolder(folder)).toBe(false);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(makeFolder('/')).toBe(false);
});

it('ends with an error where a file system makes no directories, at any depth', () => {
  expect(() => makeFolder('/proc/x')).toThrow('ENOENT');
  expect(() => makeFolder('/proc/x/y/z')).toThrow('ENOENT');
});

it('does not take a file or a link to nowhere for a directory', () => {
  writeFileSync(path.join(root, 'file'), '');
  symlinkSync('nowhere', path.join(root, 'link'));
  expect(() => makeFolder(path.join(root, 'file'))).toThrow('EEXIST');
  expect(() => makeFolder(path.join(root, 'file/x'))).toThrow('ENOTDIR');
  expect(() => makeFolder(path.join(root, 'link'))).toThrow('EEXIST');
});
