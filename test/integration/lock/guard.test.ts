import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Guards } from '../../../src/shared/lock/guard.ts';
import { childFile, LockHolder } from '../../support/lock-children.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

let cleanup: Cleanup;
let locks: string;
let guards: Guards;
beforeEach(() => {
  cleanup = new Cleanup();
  locks = path.join(cleanup.tempDir(), 'locks');
  guards = new Guards(locks);
});
afterEach(() => cleanup.run());

async function holder(options: { pidNamespace?: boolean } = {}): Promise<LockHolder> {
  const made = new LockHolder(locks, options);
  cleanup.defer(() => made.destroy());
  await made.ready;
  return made;
}

/** How long until it could be had exclusively. */
async function freedAfter(name: string, deadlineMs = 1_000): Promise<number> {
  const begun = performance.now();
  const guard = await until(`${name} is free`, () => guards.try(name, 'exclusive'), deadlineMs);
  guard.release();
  return performance.now() - begun;
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

describe('who may hold a guard beside whom', () => {
  it.each([
    { first: 'shared', second: 'shared', result: 'granted' },
    { first: 'shared', second: 'exclusive', result: 'refused' },
    { first: 'exclusive', second: 'shared', result: 'refused' },
    { first: 'exclusive', second: 'exclusive', result: 'refused' },
  ] as const)('$first and then $second: $result, between processes, threads and one thread', async (row) => {
    const one = await holder();
    const other = await holder();
    expect(await one.ask({ what: 'try', name: 'p', mode: row.first })).toBe('granted');
    expect(await other.ask({ what: 'try', name: 'p', mode: row.second })).toBe(row.result);

    expect(await one.ask({ what: 'try', name: 't', mode: row.first, thread: 'a' })).toBe('granted');
    expect(await one.ask({ what: 'try', name: 't', mode: row.second, thread: 'b' })).toBe(row.result);

    const held = guards.try('own', row.first);
    const second = guards.try('own', row.second);
    expect(second ? 'granted' : 'refused').toBe(row.result);
    second?.release();
    held?.release();
  });

  it('lets a release go once, however often it is called', async () => {
    const first = guards.try('n', 'exclusive');
    first?.release();
    const second = guards.try('n', 'exclusive');
    first?.release(); // must not free or close what is another's by now
    expect(guards.try('n', 'shared')).toBeNull();
    second?.release();
  });

  it('refuses a name that would leave its folder', () => {
    for (const name of ['', '.', '..', 'a/b', 'a\0', '../x']) {
      expect(() => guards.try(name, 'shared')).toThrow(/no name of a lock/);
    }
  });
});

describe.each([{ pidNamespace: false }, { pidNamespace: true }])('a holder elsewhere (%o)', (where) => {
  it('is followed by a waiter within a second of its SIGKILL', async () => {
    const dead = await holder(where);
    await dead.ask({ what: 'try', name: 'n', mode: 'exclusive' });
    const waiting = guards.exclusive('n');
    dead.kill('SIGKILL');
    const begun = performance.now();
    (await waiting).release();
    expect(performance.now() - begun).toBeLessThan(1_000);
  });

  it('is never robbed while its event loop is blocked, and releases after', async () => {
    const blocked = await holder(where);
    await blocked.ask({ what: 'try', name: 'n', mode: 'shared' });
    await blocked.ask({ what: 'block', ms: 1_500 });
    const end = performance.now() + 1_300;
    while (performance.now() < end) {
      expect(guards.try('n', 'exclusive')).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await blocked.ask({ what: 'release', as: 'n' });
    expect(await freedAfter('n')).toBeLessThan(1_000);
  });

  it('is never robbed while it is stopped', async () => {
    const stopped = await holder(where);
    await stopped.ask({ what: 'try', name: 'n', mode: 'shared' });
    stopped.kill('SIGSTOP');
    const end = performance.now() + 1_500;
    while (performance.now() < end) {
      expect(guards.try('n', 'exclusive')).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    stopped.kill('SIGCONT');
    await stopped.ask({ what: 'release', as: 'n' });
    expect(await freedAfter('n')).toBeLessThan(1_000);
  });
});

describe('a thread that holds a guard', () => {
  it.each(['terminate', 'throw', 'exit'] as const)('frees it by %s, and its process lives', async (end) => {
    const one = await holder();
    await one.ask({ what: 'try', name: 'n', mode: 'exclusive', thread: 'a' });
    if (end === 'terminate') await one.ask({ what: 'terminate', as: 'a' });
    else one.tell({ what: end, thread: 'a' });
    expect(await freedAfter('n')).toBeLessThan(1_000);
    expect(await one.ask({ what: 'try', name: 'm', mode: 'shared' })).toBe('granted');
  });

  it('that waits is terminated at once', async () => {
    const one = await holder();
    const held = guards.try('n', 'exclusive');
    void one.ask({ what: 'wait', name: 'n', mode: 'shared', thread: 'a' });
    void one.ask({ what: 'wait', name: 'n', mode: 'exclusive', thread: 'a', as: 'other' });
    await one.ask({ what: 'abort', thread: 'a', as: 'nothing' }); // the waits were read before it
    const begun = performance.now();
    await one.ask({ what: 'terminate', as: 'a' });
    expect(performance.now() - begun).toBeLessThan(1_000);
    held?.release();
    expect(await freedAfter('n')).toBeLessThan(1_000);
  });
});

describe('waiting', () => {
  it('ends with its signal and leaves no descriptor', async () => {
    const held = guards.try('n', 'exclusive');
    const before = descriptors();
    const stop = new AbortController();
    const waits = [guards.shared('n', stop), guards.exclusive('n', stop)];
    const ends = Promise.allSettled(waits);
    stop.abort(new Error('enough'));
    const begun = performance.now();
    for (const end of await ends)
      expect(end).toMatchObject({ status: 'rejected', reason: { message: 'enough' } });
    expect(performance.now() - begun).toBeLessThan(1_000);
    expect(descriptors()).toBe(before);
    await expect(guards.shared('n', stop)).rejects.toThrow('enough');
    held?.release();
  });

  it('does not keep a process that exits', async () => {
    const one = await holder();
    const held = guards.try('n', 'exclusive');
    void one.ask({ what: 'wait', name: 'n', mode: 'shared' });
    const ended = once(one.child, 'exit');
    one.tell({ what: 'exit' });
    const begun = performance.now();
    await ended;
    expect(performance.now() - begun).toBeLessThan(1_000);
    held?.release();
  });

  it('of eight leaves the thread pool free', async () => {
    const held = guards.try('n', 'exclusive');
    const stop = new AbortController();
    const waits = Promise.allSettled(Array.from({ length: 8 }, () => guards.exclusive('n', stop)));
    const begun = performance.now();
    await readFile('/etc/hostname');
    expect(performance.now() - begun).toBeLessThan(100);
    stop.abort();
    await waits;
    held?.release();
  });
});

describe('lock files', () => {
  it('of an earlier boot, with anything in them, do no harm', async () => {
    guards.try('n', 'exclusive')?.release();
    writeFileSync(path.join(locks, 'n'), '{"pid":1,"boot":"another"}');
    utimesSync(path.join(locks, 'n'), 1, 1);
    const begun = performance.now();
    (await guards.exclusive('n')).release();
    expect(performance.now() - begun).toBeLessThan(20);
    expect(readFileSync(path.join(locks, 'n'), 'utf8')).toContain('another');
  });

  it('keep their inode', () => {
    guards.try('n', 'exclusive')?.release();
    const { ino } = statSync(path.join(locks, 'n'));
    for (let at = 0; at < 10; at += 1) guards.try('n', 'exclusive')?.release();
    expect(statSync(path.join(locks, 'n')).ino).toBe(ino);
  });
});

it('is free at once after its release, in the middle of a storm of spawns', async () => {
  const child = spawn(process.execPath, [childFile('lock-spawner'), locks, '2000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.defer(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (data: Buffer) => (text += data.toString()));
  await once(child, 'close');
  const { tries, refused, spawned } = JSON.parse(text) as Record<string, number>;
  expect(spawned).toBeGreaterThan(10);
  expect(tries).toBeGreaterThan(1_000);
  expect(refused).toBe(0);
});
