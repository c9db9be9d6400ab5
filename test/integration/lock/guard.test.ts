import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { Guards } from '../../../src/shared/lock/guard.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';
import { withinASecond } from '../../support/within-a-second.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const dist = path.resolve(import.meta.dirname, '../../../dist/test');
type Mode = 'shared' | 'exclusive';

class Holder {
  readonly child: ChildProcess;
  readonly #lines: Interface;

  constructor(dir: string, mode: Mode, own: readonly string[] = []) {
    const args = [`${dist}/lock-holder.js`, dir, 'a', mode];
    const [program = process.execPath, ...before] = own;
    if (own.length > 0) before.push(process.execPath);
    this.child = spawn(program, [...before, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (!this.child.stdout) throw new Error('no pipe');
    this.#lines = createInterface({ input: this.child.stdout });
    cleanup.defer(() => this.kill());
  }

  async says(wanted: string): Promise<void> {
    for (;;) {
      const [line] = (await once(this.#lines, 'line')) as [string];
      if (line === wanted) return;
    }
  }

  tell(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGCONT');
    this.child.kill('SIGKILL');
    await exited;
  }
}

async function holder(dir: string, mode: Mode, own: readonly string[] = []): Promise<Holder> {
  const made = new Holder(dir, mode, own);
  await made.says('granted');
  return made;
}

async function thread(dir: string, mode: Mode, next: string): Promise<{ worker: Worker; first: string }> {
  const worker = new Worker(`${dist}/lock-thread.js`, { workerData: { dir, name: 'a', mode, next } });
  worker.on('error', () => {});
  cleanup.defer(async () => void (await worker.terminate()));
  const [first] = (await once(worker, 'message')) as [string];
  return { worker, first };
}

function within(ms: number): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(ms) };
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

const matrix: [Mode, Mode, boolean][] = [
  ['shared', 'shared', true],
  ['shared', 'exclusive', false],
  ['exclusive', 'shared', false],
  ['exclusive', 'exclusive', false],
];

describe.each([
  ['plain', []],
  ...(process.getuid?.() === 0
    ? [['in another pid namespace', ['unshare', '-pf', '--kill-child', '--mount-proc']]]
    : []),
] as [string, string[]][])('a holder in another process, %s', (_, own) => {
  test.each(matrix)('%s beside %s: granted is %s', async (first, second, granted) => {
    const dir = cleanup.tempDir();
    await holder(dir, first, own);
    const guard = new Guards(dir).try('a', second);
    expect(guard !== null).toBe(granted);
    guard?.release();
  });

  test('SIGKILL frees for a waiter in under a second', async () => {
    const dir = cleanup.tempDir();
    const first = await holder(dir, 'exclusive', own);
    const waiting = new Guards(dir).exclusive('a');
    await first.kill();
    (await withinASecond('the guard of the killed', waiting)).release();
  });

  test('a holder whose event loop is blocked keeps its guard', async () => {
    const dir = cleanup.tempDir();
    const first = await holder(dir, 'shared', own);
    first.tell('block 1500');
    await first.says('blocking');
    const unblocked = first.says('unblocked');
    await expect(new Guards(dir).exclusive('a', within(1200))).rejects.toThrow();
    await unblocked;
    first.tell('release');
    (await withinASecond('the guard', new Guards(dir).exclusive('a'))).release();
  });
});

test('a stopped holder keeps its guard until it goes on and releases', async () => {
  const dir = cleanup.tempDir();
  const first = await holder(dir, 'shared');
  first.child.kill('SIGSTOP');
  await expect(new Guards(dir).exclusive('a', within(1500))).rejects.toThrow();
  first.child.kill('SIGCONT');
  first.tell('release');
  (await withinASecond('the guard', new Guards(dir).exclusive('a'))).release();
});

test.each(matrix)('two threads, %s beside %s: granted is %s', async (first, second, granted) => {
  const dir = cleanup.tempDir();
  const held = new Guards(dir).try('a', first);
  const { first: answer } = await thread(dir, second, 'hold');
  expect(answer).toBe(granted ? 'granted' : 'refused');
  held?.release();
});

test.each(['terminate', 'throw', 'exit'])(
  'a thread that holds and ends by %s frees in under a second',
  async (how) => {
    const dir = cleanup.tempDir();
    const before = descriptors();
    const { worker } = await thread(dir, 'exclusive', how === 'terminate' ? 'hold' : how);
    const exited = new Promise((resolve) => worker.once('exit', resolve)); // `once` would reject on `error`
    if (how === 'terminate') await worker.terminate();
    else worker.postMessage('now');
    await exited;
    (await withinASecond('the guard', new Guards(dir).exclusive('a'))).release();
    await until('its descriptors are closed', () => descriptors() <= before);
  },
);

test('a waiting thread is terminated in under a second', async () => {
  const dir = cleanup.tempDir();
  const held = new Guards(dir).try('a', 'exclusive');
  const { worker } = await thread(dir, 'exclusive', 'wait');
  await withinASecond('the end of the thread', worker.terminate());
  held?.release();
});

test('an aborted wait rejects with the reason of its signal and keeps no descriptor', async () => {
  const guards = new Guards(cleanup.tempDir());
  const held = guards.try('a', 'exclusive');
  const before = descriptors();
  const abort = new AbortController();
  const waiting = guards.shared('a', { signal: abort.signal });
  const reason = new Error('no more wanted');
  abort.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  expect(descriptors()).toBe(before);
  held?.release();
});

test('waiters leave the thread pool to others', async () => {
  const dir = cleanup.tempDir();
  const held = new Guards(dir).try('a', 'exclusive');
  const abort = new AbortController();
  const waiters = Array.from({ length: 8 }, () => new Guards(dir).shared('a', { signal: abort.signal }));
  const { readFile } = await import('node:fs/promises');
  await withinASecond('a file', readFile(import.meta.filename));
  abort.abort();
  await Promise.allSettled(waiters);
  held?.release();
});

test('a lock file from an earlier boot, whatever is in it, is no lock', () => {
  const dir = cleanup.tempDir();
  writeFileSync(path.join(dir, 'a'), 'junk');
  const before = statSync(path.join(dir, 'a')).ino;
  new Guards(dir).try('a', 'exclusive')?.release();
  const again = new Guards(dir).try('a', 'exclusive');
  expect(again).not.toBeNull();
  again?.release();
  again?.release();
  expect(statSync(path.join(dir, 'a')).ino).toBe(before);
  expect(readFileSync(path.join(dir, 'a'), 'utf8')).toBe('junk');
});

test('what a thread has released is free at once, also while the main thread forks children', async () => {
  const file = path.join(dist, 'lock-spawner.js');
  const child = spawn(process.execPath, [file, cleanup.tempDir(), '150'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.defer(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { tries, refused } = JSON.parse(line) as { tries: number; refused: number };
  expect(tries).toBeGreaterThan(150);
  expect(refused).toBe(0);
});

test('a name that leaves the directory is refused', () => {
  const guards = new Guards(cleanup.tempDir());
  for (const name of ['../a', '..', '', 'a/b', 'a\0b', 'a'.repeat(201)]) {
    expect(() => guards.try(name, 'shared')).toThrow('no name of a lock');
  }
});
