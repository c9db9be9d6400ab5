import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { measureTree } from '../../../../src/runner/dir/measure-tree.ts';
import { removeTree } from '../../../../src/runner/dir/remove-tree.ts';
import { Cleanup } from '../../../support/temp.ts';

let cleanup: Cleanup;
let dir: string;
beforeEach(() => {
  cleanup = new Cleanup();
  dir = cleanup.tempDir();
});
afterEach(() => cleanup.run());

/** Builds from the inside out, since a path of this depth cannot be named. */
function deepTree(root: string, levels: number): void {
  mkdirSync(root);
  writeFileSync(path.join(root, 'bottom'), 'x');
  for (let level = 0; level < levels; level += 1) {
    mkdirSync(`${root}.up`);
    renameSync(root, `${root}.up/${level % 2 ? 'a-name-of-some-length' : 'b'}`);
    renameSync(`${root}.up`, root);
  }
}

function du(file: string): number {
  return Number(execFileSync('du', ['-s', '-B512', file], { encoding: 'utf8' }).split('\t')[0]) * 512;
}

describe('removing a tree', () => {
  it('says nothing of what is not there', () => {
    expect(removeTree(path.join(dir, 'none'))).toEqual([]);
  });

  it('takes directories of 0555 with files of 0444', () => {
    const root = path.join(dir, 'go');
    mkdirSync(path.join(root, 'mod/pkg'), { recursive: true });
    writeFileSync(path.join(root, 'mod/pkg/file'), 'x', { mode: 0o444 });
    for (const folder of ['mod/pkg', 'mod', '']) chmodSync(path.join(root, folder), 0o555);
    expect(removeTree(root)).toEqual([]);
    expect(existsSync(root)).toBe(false);
  });

  it('unlinks links, at the top and below, and touches nothing that they name', () => {
    const victim = path.join(dir, 'victim');
    mkdirSync(victim, { mode: 0o555 });
    const root = path.join(dir, 'root');
    mkdirSync(root);
    symlinkSync(victim, path.join(root, 'away'));
    symlinkSync('loop', path.join(root, 'loop'));
    symlinkSync('/etc', path.join(root, 'etc'));
    const top = path.join(dir, 'top');
    symlinkSync(victim, top);
    expect([removeTree(root), removeTree(top)]).toEqual([[], []]);
    expect(readdirSync(dir)).toEqual(['victim']);
    expect(statSync(victim).mode & 0o777).toBe(0o555);
    expect(readFileSync('/etc/passwd').length).toBeGreaterThan(0);
  });

  it('takes a plain file and odd names', () => {
    const file = path.join(dir, 'file');
    writeFileSync(file, 'x');
    const root = path.join(dir, 'root');
    mkdirSync(root);
    for (const name of ['-rf', ' ', 'a\nb', 'é', '*']) writeFileSync(path.join(root, name), '');
    expect([removeTree(file), removeTree(root)]).toEqual([[], []]);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('takes a tree deeper than any path may be long', () => {
    const root = path.join(dir, 'deep');
    deepTree(root, 500);
    expect(removeTree(root)).toEqual([]);
    expect(existsSync(root)).toBe(false);
  });
});

describe('measuring a tree', () => {
  it('counts blocks as du does, hard links once, and no link', () => {
    const root = path.join(dir, 'root');
    mkdirSync(path.join(root, 'sub'), { recursive: true });
    writeFileSync(path.join(root, 'sub/a'), Buffer.alloc(100_000, 1));
    linkSync(path.join(root, 'sub/a'), path.join(root, 'b'));
    symlinkSync('/usr', path.join(root, 'usr'));
    symlinkSync('loop', path.join(root, 'loop'));
    expect(measureTree(root)).toBe(du(root));
  });

  it('counts nothing for what is not there', () => {
    expect(measureTree(path.join(dir, 'none'))).toBe(0);
  });

  it('goes deeper than any path may be long and closes what it opened', () => {
    const root = path.join(dir, 'deep');
    deepTree(root, 500);
    const before = readdirSync('/proc/self/fd').length;
    expect(measureTree(root)).toBe(du(root));
    expect(readdirSync('/proc/self/fd').length).toBe(before);
    expect(removeTree(root)).toEqual([]);
  });
});

it('a folder of thousands of files is measured and removed', () => {
  const root = path.join(dir, 'wide');
  mkdirSync(root);
  execFileSync('sh', ['-c', 'seq 1 5000 | xargs touch'], { cwd: root });
  expect(measureTree(root)).toBe(du(root));
  expect(removeTree(root)).toEqual([]);
  expect(existsSync(root)).toBe(false);
});
