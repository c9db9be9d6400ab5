import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LogFiles } from '../../src/server/logs/log-files.ts';
import { openArtifactFiles, openLogFiles } from '../../src/server/logs/open.ts';
import { openSqliteStore } from '../../src/server/store/open.ts';
import type { SmallLogStore, Store } from '../../src/server/store/store.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';

let cleanup: Cleanup;
let dir: string;
let store: Store;

beforeEach(async () => {
  cleanup = new Cleanup();
  dir = cleanup.tempDir();
  store = await openSqliteStore(path.join(dir, 'vole.sqlite'));
  cleanup.defer(() => store.close());
});
afterEach(() => cleanup.run());

function logs(idleMs?: number, small: SmallLogStore = store.smallLogs) {
  const files = openLogFiles(path.join(dir, 'logs'), small, idleMs);
  cleanup.defer(() => files.close());
  return files;
}

/** Too long for the database. */
const LONG = Buffer.from('0123456789abcdef'.repeat(2_000));
const file = (run: number, attempt: number): string => path.join(dir, `logs/0/${run}-${attempt}.log`);
const whole = async (files: LogFiles, run: number, attempt: number): Promise<string> =>
  (await files.read(run, attempt, 0, 1_000_000)).toString();

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
  expect(await whole(files, 1, 1)).toBe('0123456789'.repeat(5));
});

test('a small log has no file, and one that becomes long is moved to one, whole', async () => {
  const files = logs();
  await files.append(1, 1, 0, Buffer.from('ab'));
  expect(existsSync(file(1, 1))).toBe(false);
  expect(await files.append(1, 1, 2, LONG)).toBe(LONG.length + 2);
  expect(readFileSync(file(1, 1), 'utf8')).toBe(`ab${LONG.toString()}`);
  expect(store.smallLogs.length(1, 1)).toBe(null);
  expect(await files.append(1, 1, LONG.length + 2, Buffer.from('z'))).toBe(LONG.length + 3);
  expect(await files.length(1, 1)).toBe(LONG.length + 3);
  expect(await whole(files, 1, 1)).toBe(`ab${LONG.toString()}z`);
});

test('appends to a log that becomes long meanwhile lose nothing and take effect in order', async () => {
  const files = logs();
  const parts = Array.from({ length: 200 }, (_, at) => Buffer.alloc(200, 97 + (at % 26)));
  const bytes = Buffer.concat(parts);
  // As a runner does: several under way, and on from the length that it is told.
  for (let length = 0; length < bytes.length; ) {
    const ahead = [0, 1, 2].map((n) => length + n * 200);
    const told = await Promise.all(ahead.map((at) => files.append(1, 1, at, bytes.subarray(at, at + 200))));
    length = told.at(-1) ?? 0;
  }
  expect(await files.length(1, 1)).toBe(bytes.length);
  expect(readFileSync(file(1, 1))).toEqual(bytes);
});

test('a move to a file that a crash has cut short is made again, and what came since is kept', async () => {
  await store.smallLogs.append(1, 1, 0, Buffer.from('abc'));
  mkdirSync(path.dirname(file(1, 1)), { recursive: true });
  writeFileSync(file(1, 1), 'a');
  const files = logs();
  expect(await files.length(1, 1)).toBe(3);
  expect(await whole(files, 1, 1)).toBe('abc');
  await files.append(1, 1, 3, Buffer.from('de'));
  expect(await files.append(1, 1, 5, LONG)).toBe(LONG.length + 5);
  expect(readFileSync(file(1, 1), 'utf8')).toBe(`abcde${LONG.toString()}`);
});

test('what is added to a small log while it is moved is moved too', async () => {
  let late = 0;
  const small: SmallLogStore = {
    takes: (length) => store.smallLogs.takes(length),
    length: (run, attempt) => store.smallLogs.length(run, attempt),
    read: (run, attempt) => store.smallLogs.read(run, attempt),
    append: (...what) => store.smallLogs.append(...what),
    remove: async (run, attempt, length) => {
      if (late++ === 0) await store.smallLogs.append(run, attempt, length, Buffer.from('late'));
      return await store.smallLogs.remove(run, attempt, length);
    },
  };
  const files = logs(undefined, small);
  await files.append(1, 1, 0, Buffer.from('ab'));
  expect(await files.append(1, 1, 2, LONG)).toBe(6);
  expect(await files.append(1, 1, 6, LONG)).toBe(LONG.length + 6);
  expect(readFileSync(file(1, 1), 'utf8')).toBe(`ablate${LONG.toString()}`);
});

test('a log that lies in a file goes on there, however small it is', async () => {
  mkdirSync(path.dirname(file(1, 1)), { recursive: true });
  writeFileSync(file(1, 1), 'abc');
  const files = logs();
  expect(await files.append(1, 1, 0, Buffer.from('xyz'))).toBe(3);
  expect(await files.append(1, 1, 3, Buffer.from('de'))).toBe(5);
  expect(readFileSync(file(1, 1), 'utf8')).toBe('abcde');
  expect([files.staysSmall(1, 1, 5), files.staysSmall(2, 1, 5)]).toEqual([false, true]);
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
  const before = openLogFiles(path.join(dir, 'logs'), store.smallLogs);
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
    await files.append(1, 1, 0, LONG);
    expect(openFiles().filter((file) => file.endsWith('.log'))).toHaveLength(1);
    await until('it is closed', () => openFiles().every((file) => !file.endsWith('.log')));
    expect(await files.append(1, 1, LONG.length, Buffer.from('b'))).toBe(LONG.length + 1);
  },
);

test('a log that cannot be written rejects, and works once it can', async () => {
  const files = logs();
  writeFileSync(path.join(dir, 'logs'), 'a file where the folder should be');
  await files.append(1, 1, 0, Buffer.from('ab'));
  await expect(files.append(1, 1, 2, LONG)).rejects.toThrow(/ENOTDIR|EEXIST/);
  expect(await whole(files, 1, 1)).toBe('ab');
  rmSync(path.join(dir, 'logs'));
  expect(await files.append(1, 1, 2, LONG)).toBe(LONG.length + 2);
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
