import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openArtifactFiles, openLogFiles } from '../../src/server/logs/open.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';

let cleanup: Cleanup;
let dir: string;

beforeEach(() => {
  cleanup = new Cleanup();
  dir = cleanup.tempDir();
});
afterEach(() => cleanup.run());

function logs(idleMs?: number) {
  const files = openLogFiles(path.join(dir, 'logs'), idleMs);
  cleanup.defer(() => files.close());
  return files;
}

function artifacts() {
  const files = openArtifactFiles(path.join(dir, 'artifacts'));
  cleanup.defer(() => files.close());
  return files;
}

/** Descriptors of this process on files under the test's directory. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(`${dir}/`) ? [target] : [];
    } catch {
      return [];
    }
  });
}

const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

test('appends to one log take effect in the order in which they were asked for', async () => {
  const files = logs();
  const lengths = await Promise.all(
    Array.from({ length: 50 }, (_, at) => files.append(1, 1, at, Buffer.from(String(at % 10)))),
  );
  expect(lengths).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
  expect(readFileSync(path.join(dir, 'logs/0/1-1.log'), 'utf8')).toBe('0123456789'.repeat(5));
});

test('of two appends at one offset the second writes nothing', async () => {
  const files = logs();
  const lengths = await Promise.all([
    files.append(1, 1, 0, Buffer.from('abc')),
    files.append(1, 1, 0, Buffer.from('xyz!')),
  ]);
  expect(lengths).toEqual([3, 3]);
  expect((await files.read(1, 1, 0, 100)).toString()).toBe('abc');
});

test('a log goes on where an earlier process left it', async () => {
  const before = openLogFiles(path.join(dir, 'logs'));
  await before.append(1, 2, 0, Buffer.from('abc'));
  await before.close();
  const files = logs();
  expect(await files.length(1, 2)).toBe(3);
  expect(await files.append(1, 2, 3, Buffer.from('de'))).toBe(5);
  expect((await files.read(1, 2, 1, 3)).toString()).toBe('bcd');
});

test('a log that is not there is empty, and reading past the end is too', async () => {
  const files = logs();
  expect(await files.length(7, 1)).toBe(0);
  expect(await files.read(7, 1, 0, 10)).toHaveLength(0);
  await files.append(7, 1, 0, Buffer.from('ab'));
  expect(await files.read(7, 1, 2, 10)).toHaveLength(0);
});

test('growth is told to those who listen to that log, until they stop', async () => {
  const files = logs();
  let seen = 0;
  const stop = files.onGrowth(1, 1, () => seen++);
  await files.append(1, 1, 0, Buffer.from('a'));
  await files.append(1, 2, 0, Buffer.from('a'));
  await files.append(2, 1, 0, Buffer.from('a'));
  await files.append(1, 1, 0, Buffer.from('wrong'));
  expect(seen).toBe(1);
  stop();
  await files.append(1, 1, 1, Buffer.from('b'));
  expect(seen).toBe(1);
});

test('a listener that stops another one while it is called disturbs nobody', async () => {
  const files = logs();
  const seen: string[] = [];
  const stops: (() => void)[] = [];
  stops.push(files.onGrowth(1, 1, () => (seen.push('a'), stops[1]?.())));
  stops.push(files.onGrowth(1, 1, () => seen.push('b')));
  stops.push(files.onGrowth(1, 1, () => seen.push('c')));
  await files.append(1, 1, 0, Buffer.from('a'));
  expect(seen).toEqual(['a', 'c']);
});

test.runIf(existsSync('/proc/self/fd'))(
  'an idle log holds no descriptor and can be written to again',
  async () => {
    const files = logs(50);
    await files.append(1, 1, 0, Buffer.from('a'));
    expect(openFiles().filter((file) => file.endsWith('.log'))).toHaveLength(1);
    await until('it is closed', () => openFiles().every((file) => !file.endsWith('.log')));
    expect(await files.append(1, 1, 1, Buffer.from('b'))).toBe(2);
  },
);

test('a log that cannot be written rejects, and works once it can', async () => {
  const files = logs();
  writeFileSync(path.join(dir, 'logs'), 'a file where the folder should be');
  await expect(files.append(1, 1, 0, Buffer.from('a'))).rejects.toThrow(/ENOTDIR|EEXIST/);
});

test('nothing but whole numbers becomes part of a path', async () => {
  const files = logs();
  await expect(files.append(-1, 1, 0, Buffer.from('a'))).rejects.toThrow(RangeError);
  await expect(files.read(1.5, 1, 0, 1)).rejects.toThrow(RangeError);
});

test('an artifact is seen once it is whole and has its digest', async () => {
  const files = artifacts();
  const bytes = Buffer.from('hello artifact');
  await files.append(1, 1, 'out.tar', 0, bytes.subarray(0, 5), false, null);
  expect(await files.path(1, 1, 'out.tar')).toBe(null);
  expect(await files.append(1, 1, 'out.tar', 5, bytes.subarray(5), true, sha(bytes))).toEqual({
    offset: bytes.length,
    error: null,
  });
  const file = await files.path(1, 1, 'out.tar');
  expect(path.isAbsolute(file ?? '')).toBe(true);
  expect(readFileSync(file ?? '')).toEqual(bytes);
  expect(await files.list(1, 1)).toEqual([{ name: 'out.tar', bytes: bytes.length }]);
  expect(readdirSync(path.dirname(file ?? ''))).toEqual(['out.tar']);
});

test('an artifact with a wrong digest is thrown away and can be sent again', async () => {
  const files = artifacts();
  const bytes = Buffer.from('abc');
  const wrong = await files.append(1, 1, 'a', 0, bytes, true, sha(Buffer.from('abd')));
  expect(wrong.offset).toBe(0);
  expect(wrong.error).toContain('digest');
  expect(await files.list(1, 1)).toEqual([]);
  expect(await files.append(1, 1, 'a', 0, bytes, true, null)).toMatchObject({ offset: 0 });
  expect(await files.append(1, 1, 'a', 0, bytes, true, sha(bytes))).toEqual({ offset: 3, error: null });
});

test('an empty artifact is an artifact', async () => {
  const files = artifacts();
  const nothing = Buffer.alloc(0);
  expect(await files.append(1, 1, 'empty', 0, nothing, true, sha(nothing))).toEqual({
    offset: 0,
    error: null,
  });
  expect(await files.list(1, 1)).toEqual([{ name: 'empty', bytes: 0 }]);
});

test('an artifact goes on after a restart, and one sent twice is taken once', async () => {
  const before = openArtifactFiles(path.join(dir, 'artifacts'));
  await before.append(1, 1, 'a', 0, Buffer.from('abc'), false, null);
  await before.close();
  const files = artifacts();
  const end = { bytes: Buffer.from('de'), sha: sha(Buffer.from('abcde')) };
  expect(await files.append(1, 1, 'a', 0, Buffer.from('abc'), false, null)).toEqual({
    offset: 3,
    error: null,
  });
  const both = await Promise.all([
    files.append(1, 1, 'a', 3, end.bytes, true, end.sha),
    files.append(1, 1, 'a', 3, end.bytes, true, end.sha),
  ]);
  expect(both).toEqual([
    { offset: 5, error: null },
    { offset: 5, error: null },
  ]);
  expect(statSync(path.join(dir, 'artifacts/1/1/a')).size).toBe(5);
  expect(readdirSync(path.join(dir, 'artifacts/1/1'))).toEqual(['a']);
});

test.each(['../x', 'a/b', '..', '.', '', 'x'.repeat(101), 'a~part', 'nul\0'])(
  'the artifact name %j is not taken',
  async (name) => {
    const files = artifacts();
    const { error } = await files.append(1, 1, name, 0, Buffer.from('x'), true, sha(Buffer.from('x')));
    expect(error).toContain('name');
    expect(await files.path(1, 1, name)).toBe(null);
    expect(existsSync(path.join(dir, 'artifacts'))).toBe(false);
  },
);
