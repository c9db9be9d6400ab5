import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { foreignIn } from '../../../../src/runner/agent/foreign-files.ts';
import { Cleanup } from '../../../support/temp.ts';

const EXPECTED = {
  folders: ['a', 'a/b'],
  mayBe: ['made'],
  files: new Map([['a/file', 'text']]),
  free: ['made/free'],
  unwanted: ['made/free/bin'],
};

let cleanup: Cleanup;
let root: string;
beforeEach(() => {
  cleanup = new Cleanup();
  root = cleanup.tempDir('vole-foreign-');
  mkdirSync(path.join(root, 'a', 'b'), { recursive: true });
  mkdirSync(path.join(root, 'made', 'free', 'any'), { recursive: true });
  write('a/file', 'text');
  write('made/free/any/thing');
});
afterEach(() => cleanup.run());

function write(name: string, text = ''): void {
  writeFileSync(path.join(root, name), text);
}
const remove = (name: string): void => rmSync(path.join(root, name), { recursive: true });
const link = (name: string): void => symlinkSync('/nowhere', path.join(root, name));

it('a folder that is as expected has nothing foreign, with or without what may be', () => {
  expect(foreignIn(root, EXPECTED)).toEqual([]);
  remove('made');
  expect(foreignIn(root, EXPECTED)).toEqual([]);
});

it.each<[string, () => void, string[]]>([
  ['a file more', () => write('a/b/x'), ['a/b/x']],
  ['a hidden one at the top', () => write('.x'), ['.x']],
  ['a file where one may be', () => write('made/x'), ['made/x']],
  ['another content', () => write('a/file', 'Text'), ['a/file']],
  ['a file that is missing', () => remove('a/file'), ['a/file']],
  ['a folder that is missing', () => remove('a/b'), ['a/b']],
  ['what is unwanted where all else may be', () => write('made/free/bin'), ['made/free/bin']],
  ['a link in place of a file', () => (remove('a/file'), link('a/file')), ['a/file']],
  ['a link in place of a free folder', () => (remove('made/free'), link('made/free')), ['made/free']],
])('%s is named', (_what, change, names) => {
  change();
  expect(foreignIn(root, EXPECTED)).toEqual(names);
});
