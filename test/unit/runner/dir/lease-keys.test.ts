import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LeaseKeys, leasedFrom, leftLeaseKeys } from '../../../../src/runner/dir/lease-keys.ts';
import { Cleanup } from '../../../support/temp.ts';

const FROM = { server: 's', account: 'a' };

let cleanup: Cleanup;
let folder: string;
beforeEach(() => {
  cleanup = new Cleanup();
  folder = path.join(cleanup.tempDir(), 'own');
});
afterEach(() => cleanup.run());

const key = (digit: string): string => digit.repeat(24);

test('the last key of each slot is found after the death of its process', () => {
  const keys = new LeaseKeys(folder, FROM);
  for (const [slot, digit] of [
    [0, 'a'],
    [11, 'b'],
    [0, 'c'],
  ] as const)
    expect(keys.note(slot, key(digit))).toBe(true);
  expect(leftLeaseKeys(folder).toSorted((a, b) => a.name.localeCompare(b.name))).toMatchObject([
    { name: 'lease-0', key: key('c') },
    { name: 'lease-11', key: key('b') },
  ]);
  expect(leasedFrom(folder)).toEqual(FROM);
  expect([keys.close(), keys.close()]).toEqual([false, false]);
  expect(leftLeaseKeys(folder)).toEqual([]);
});

test('the key of a slot that leaves it stays, and those of others go', () => {
  const keys = new LeaseKeys(folder, FROM);
  keys.note(0, key('a'));
  keys.note(1, key('b'));
  keys.leave(1);
  keys.leave(2); // it has noted none
  expect([keys.close(), keys.close()]).toEqual([true, true]);
  const notedAt = statSync(path.join(folder, 'lease-1')).mtimeMs;
  expect(leftLeaseKeys(folder)).toEqual([{ name: 'lease-1', key: key('b'), notedAt }]);
  expect(leasedFrom(folder)).toEqual(FROM);
});

test.each(['', '{', '{"server":"s"}', 'x'.repeat(5000)])('whose they are is not known by %o', (text) => {
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'leased-from.json'), text);
  expect(leasedFrom(folder)).toBe(null);
});

test('what is no key of ours is passed over, and nothing waits for it', () => {
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'lease-1'), 'torn');
  writeFileSync(path.join(folder, 'lease-2'), key('g'));
  writeFileSync(path.join(folder, 'lease-x'), key('a'));
  mkdirSync(path.join(folder, 'lease-3'));
  execFileSync('mkfifo', [path.join(folder, 'lease-4')]);
  symlinkSync('/dev/zero', path.join(folder, 'lease-5'));
  expect(leftLeaseKeys(folder)).toEqual([]);
});

test('a key that cannot be written down is not', () => {
  writeFileSync(folder, '');
  expect(new LeaseKeys(folder, FROM).note(0, key('a'))).toBe(false);
  expect(existsSync(path.join(folder, 'lease-0'))).toBe(false);
});
