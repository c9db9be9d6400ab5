import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runChore } from '../../../src/shared/lock/chore.ts';
import { childFile } from '../../support/lock-children.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

let cleanup: Cleanup;
let locks: string;
beforeEach(() => {
  cleanup = new Cleanup();
  locks = path.join(cleanup.tempDir(), 'locks');
});
afterEach(() => cleanup.run());

/** A process that has the chore, with all that it said so far. */
async function taker(): Promise<{ child: ChildProcess; said: () => string }> {
  const child = spawn(process.execPath, [childFile('lock-chore'), locks], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout?.on('data', (data: Buffer) => (text += data.toString()));
  cleanup.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await until('it has the chore', () => text.includes('has it'));
  return { child, said: () => text };
}

it('is done by one process at a time, and is to be had again after', async () => {
  const { child, said } = await taker();
  expect(await runChore(locks, 'test', async () => {})).toBe('held-elsewhere');
  expect(await runChore(locks, 'another', async () => {})).toBe('done');
  child.stdin?.write('go\n');
  await once(child, 'exit');
  expect(said()).toContain('end: done');
  expect(await runChore(locks, 'test', async () => {})).toBe('done');
  expect(existsSync(path.join(locks, 'chore-test.lock'))).toBe(false);
});

it('is freed by work that throws', async () => {
  const failing = runChore(locks, 'test', async () => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await runChore(locks, 'test', async () => {})).toBe('done');
});

it('is taken over from a process that hangs, which hears of it and lives', async () => {
  const { child, said } = await taker();
  child.kill('SIGSTOP');
  // Stopped for longer than it may be silent: time itself is not waited for.
  const old = new Date(Date.now() - 60_000);
  utimesSync(path.join(locks, 'chore-test.lock'), old, old);
  let inside = false;
  let leave = (): void => {};
  const mine = runChore(locks, 'test', async () => {
    inside = true;
    await new Promise<void>((resolve) => (leave = resolve));
  });
  await until('it was taken over', () => inside);
  child.kill('SIGCONT');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
  expect(said()).toContain('end: lost');
  expect(await runChore(locks, 'test', async () => {})).toBe('held-elsewhere'); // the loser freed nothing
  leave();
  expect(await mine).toBe('done');
});
