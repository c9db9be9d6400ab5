import { spawn } from 'node:child_process';
import { closeSync, fstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../src/shared/platform/commands.ts';
import { type FifoPair, FifoStock } from '../../src/shared/platform/fifos.ts';
import { groupMembers, isAlive, processStat, sameProcessAlive } from '../../src/shared/platform/processes.ts';
import { smallDisk } from '../support/small-disk.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const descriptors = (): number => readdirSync('/proc/self/fd').length;

describe('a command', () => {
  test('gives its output, its exit code and one line of why', async () => {
    const passed = await runCommand('sh', ['-c', 'printf "a\\n"; echo b >&2']);
    expect(passed).toMatchObject({ ok: true, exitCode: 0, stdout: 'a\n', stderr: 'b\n', why: '' });
    const failed = await runCommand('sh', ['-c', 'echo one >&2; echo; echo two >&2; exit 3']);
    expect(failed).toMatchObject({ ok: false, exitCode: 3, why: 'one; two (exit 3)' });
    const killed = await runCommand('sh', ['-c', 'kill -9 $$']);
    expect(killed).toMatchObject({ ok: false, signal: 'SIGKILL', why: 'sh: was ended by SIGKILL' });
  });

  test('that is not there, or whose folder is not, says so', async () => {
    expect(await runCommand('no-such-program', [])).toMatchObject({ ok: false, missing: true });
    expect(await runCommand('true', [], { cwd: '/no/such' })).toMatchObject({ ok: false });
  });

  test('that prints too much is ended', async () => {
    const result = await runCommand('yes', [], { maxOutputBytes: 100_000 });
    expect(result).toMatchObject({ ok: false, why: 'yes printed too much' });
  });

  test('is ended with its whole group when aborted or out of time, and announced once each', async () => {
    for (const how of ['abort', 'time'] as const) {
      const abort = new AbortController();
      const groups: number[] = [];
      const gone: number[] = [];
      const running = runCommand('sh', ['-c', 'sleep 99 & sleep 98; echo never'], {
        ...(how === 'abort' ? { signal: abort.signal } : { timeoutMs: 200 }),
        onSpawn: (pgid) => groups.push(pgid),
        onGone: (pgid) => gone.push(pgid),
      });
      const [pgid = 0] = groups;
      if (how === 'abort') {
        await until('both to sleep', () => groupMembers(pgid).length === 3);
        abort.abort();
      }
      expect(await running).toMatchObject({ ok: false, aborted: how === 'abort', timedOut: how === 'time' });
      await until('the group to be gone', () => groupMembers(pgid).length === 0);
      expect(gone).toEqual(groups);
    }
  });

  test('that is aborted before it begins is not started', async () => {
    const result = await runCommand('true', [], { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ ok: false, aborted: true, exitCode: null });
  });

  test('does not wait for a daemon that holds its output', async () => {
    const start = performance.now();
    const result = await runCommand('sh', ['-c', 'echo hi; setsid sleep 20 & exit 0']);
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(result).toMatchObject({ ok: true, stdout: 'hi\n' });
  });
});

function descriptorsOf({ stdoutRead, stdoutWrite, stderrRead, stderrWrite }: FifoPair): number[] {
  return [stdoutRead, stdoutWrite, stderrRead, stderrWrite];
}

describe('the stock of FIFOs', () => {
  test('gives those that were read to their end again, and never those that were not', async () => {
    const stock = new FifoStock(path.join(cleanup.tempDir(), 'fifos'));
    cleanup.defer(() => stock.close());
    const use = async (drained: boolean): Promise<number[]> => {
      const pair = await stock.take();
      const inodes = [pair.stdoutRead, pair.stderrRead].map((fd) => fstatSync(fd).ino);
      for (const fd of descriptorsOf(pair)) closeSync(fd);
      pair.done(drained);
      pair.done(true);
      return inodes;
    };
    const first = await use(true);
    expect(await use(false)).toEqual(first);
    expect(await use(true)).not.toEqual(first);
  });

  test('gives each taker its own, and leaves nothing when closed', async () => {
    const dir = path.join(cleanup.tempDir(), 'fifos');
    const stock = new FifoStock(dir);
    const before = descriptors();
    const pairs = await Promise.all(Array.from({ length: 40 }, () => stock.take()));
    const fds = pairs.flatMap(descriptorsOf);
    expect(new Set(fds).size).toBe(160);
    for (const fd of fds) closeSync(fd);
    expect(descriptors()).toBeLessThanOrEqual(before);
    await stock.close();
    await stock.close();
    expect(statSync(dir, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('fails on a full disk with its reason, and gives again when there is room', async () => {
    const disk = smallDisk(cleanup, '64k,nr_inodes=20');
    if (disk === null) return;
    const stock = new FifoStock(path.join(disk, 'fifos'));
    const taken: FifoPair[] = [];
    const takeAll = async (): Promise<void> => {
      for (let i = 0; i < 20; i++) taken.push(await stock.take());
    };
    const giveBack = (): void => {
      for (const pair of taken.splice(0)) {
        for (const fd of descriptorsOf(pair)) closeSync(fd);
        pair.done(false);
      }
    };
    for (const round of [1, 2]) {
      await expect(takeAll(), `round ${round}`).rejects.toThrow(/No space left/);
      expect(taken.length).toBeGreaterThan(2);
      giveBack();
    }
    await stock.close();
  });
});

test('a child that has ended and that nobody has reaped counts as gone', async () => {
  // The shell becomes a sleep, which never waits for the child that the shell had.
  const parent = spawn('sh', ['-c', 'true & exec sleep 60'], { stdio: 'ignore' });
  cleanup.defer(() => void parent.kill('SIGKILL'));
  const zombie = await until('the child to be a zombie', () => {
    const children = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'latin1').trim();
    const stat = processStat(Number(children));
    return stat?.state === 'Z' ? stat : null;
  });
  expect(isAlive(zombie)).toBe(false);
  expect(sameProcessAlive(zombie.pid, zombie.start)).toBe(false);
  expect(groupMembers(zombie.pgid).map((stat) => stat.pid)).not.toContain(zombie.pid);
});
