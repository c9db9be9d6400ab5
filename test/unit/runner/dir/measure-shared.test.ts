import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type Measured,
  measureParts,
  measureShared,
  type Part,
  type Sharing,
  sumOf,
} from '../../../../src/runner/dir/measure-tree.ts';
import { Cleanup } from '../../../support/temp.ts';

let cleanup: Cleanup;
let root: string;
beforeEach(() => {
  cleanup = new Cleanup();
  root = path.join(cleanup.tempDir(), 'root');
});
afterEach(() => cleanup.run());

function fill(folder: string, files: number): void {
  mkdirSync(folder, { recursive: true });
  for (let n = 0; n < files; n += 1) writeFileSync(path.join(folder, `file-${n}-${'x'.repeat(30)}`), '');
}

function du(file: string): number {
  return Number(execFileSync('du', ['-s', '-B512', file], { encoding: 'utf8' }).split('\t')[0]) * 512;
}

/** As a thread beside it that always has nothing to do; gives all that were measured, and how many were looked at. */
function measuredByMany(folder: string): { all: Measured[]; looked: number } {
  const given: (readonly Part[])[] = [];
  let looked = 0;
  const sharing: Sharing = {
    isWanted: () => true,
    give: (parts) => void given.push(parts),
    looked: (entries) => (looked += entries),
  };
  const all = [measureShared(folder, sharing)];
  for (let parts = given.pop(); parts; parts = given.pop()) all.push(measureParts(parts, sharing));
  return { all, looked };
}

it('what several threads measure is the sum of du: folders, files of one folder, hard links once', {
  timeout: 30_000,
}, () => {
  fill(path.join(root, 'wide'), 4_000);
  const folders = Array.from({ length: 20 }, (_, n) => path.join(root, `d${n}/é\u0001`));
  for (const folder of folders) fill(folder, 80);
  for (const [n, folder] of folders.entries()) {
    writeFileSync(path.join(folder, 'large'), Buffer.alloc(10_000, 1));
    for (const where of [`d${(n * 7) % 20}`, 'wide', '.']) {
      linkSync(path.join(folder, 'large'), path.join(root, where, `link-${n}`));
    }
  }
  const { all, looked } = measuredByMany(root);
  expect(all.length).toBeGreaterThan(2);
  expect(sumOf(all)).toBe(du(root));
  expect(looked).toBe(4_000 + 20 * (1 + 1 + 80 + 1 + 3) + 1);
});

it('a small tree is given to nobody', () => {
  fill(path.join(root, 'a'), 900);
  const { all } = measuredByMany(root);
  expect(all).toHaveLength(1);
  expect(all[0]).toEqual({ bytes: du(root), linked: null });
});

it('what is given away is named by paths that every thread can use, however deep', {
  timeout: 30_000,
}, () => {
  let folder = root;
  for (let level = 0; level < 10; level += 1) {
    folder = path.join(folder, `${level}-${'x'.repeat(60)}`);
    for (const name of ['a', 'b', 'c']) fill(path.join(folder, name), 80);
  }
  const { all } = measuredByMany(root);
  expect(all.length).toBeGreaterThan(1);
  expect(sumOf(all)).toBe(du(root));
});
