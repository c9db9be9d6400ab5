import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { isAlive, parseStat, youngerProcessesWithEnv } from '../../../../src/shared/platform/processes.ts';
import { Cleanup } from '../../../support/temp.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const rest = Array.from({ length: 30 }, (_, i) => String(100 + i)).join(' ');

test.each([
  ['sh', 'sh'],
  ['a name with spaces', 'x y'],
  ['parentheses and what looks like fields', 'a) Z 1 2 (b'],
  ['a newline', 'a\nb'],
])('a process is read whose name has %s', (_, name) => {
  expect(parseStat(`42 (${name}) S 7 8 ${rest}`)).toEqual({
    pid: 42,
    state: 'S',
    ppid: 7,
    pgid: 8,
    start: '116',
  });
});

test('what is no such line is nothing', () => {
  for (const text of ['', '42', '42 (sh', '42 (sh) S 1 2', ') (']) expect(parseStat(text)).toBeNull();
});

test('the dead, the zombies and nobody are not alive', () => {
  const stat = { pid: 1, ppid: 0, pgid: 1, start: '1' };
  for (const state of ['Z', 'X']) expect(isAlive({ ...stat, state })).toBe(false);
  for (const state of ['R', 'S', 'D', 'T', 't', 'I']) expect(isAlive({ ...stat, state })).toBe(true);
  expect(isAlive(null)).toBe(false);
});

async function started(
  env: Record<string, string>,
  file = 'sleep',
  ...args: string[]
): Promise<ChildProcess> {
  const child = spawn(file, args.length > 0 ? args : ['999'], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  cleanup.defer(async () => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  await once(child, 'spawn');
  return child;
}

const pidOf = ({ pid }: ChildProcess): number => pid ?? 0;

test.each([
  ['a few', 0],
  ['many', 40],
])(
  'what was made since a process, with %s others, is found by its environment, and what is older is not',
  async (_, others) => {
    const env = { VOLE_TEST_MARK: `${process.pid}-${others}` };
    const older = await started(env);
    const first = await started({});
    for (let made = 0; made < others; made++) await once(spawn('true', { stdio: 'ignore' }), 'exit');
    const younger = await started(env);
    await started({ VOLE_TEST_MARK: `${process.pid}-${others}-not` });
    const found = youngerProcessesWithEnv(pidOf(first), 'VOLE_TEST_MARK', env.VOLE_TEST_MARK);
    expect(found.map(({ pid }) => pid)).toEqual([pidOf(younger)]);
    expect(pidOf(older)).toBeGreaterThan(0);
  },
);

test('a thread has a number of the same kind, and is no process', async () => {
  const env = { VOLE_TEST_MARK: `${process.pid}-threads` };
  const first = await started({});
  const child = await started(env, process.execPath, '-e', 'setInterval(() => {}, 1e6)');
  const threads = (): string[] => readdirSync(`/proc/${child.pid}/task`);
  while (threads().length < 3) await new Promise((resolve) => setImmediate(resolve));
  const found = youngerProcessesWithEnv(pidOf(first), 'VOLE_TEST_MARK', env.VOLE_TEST_MARK);
  expect(found.map(({ pid }) => pid)).toEqual([pidOf(child)]);
});
