import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { Guards } from '../../src/shared/lock/guard.ts';
import { faultsIn } from '../support/lock-log.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';
import { withinASecond } from '../support/within-a-second.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const SECONDS = Number(process.env['VOLE_TORTURE_SECONDS'] ?? 6);
const stormer = path.resolve(import.meta.dirname, '../../dist/test/lock-stormer.js');

interface Storm {
  readonly root: string;
  readonly log: string;
  readonly kills: number;
  readonly stops: number;
}

const sharedIn = (log: string): number => log.match(/ shared$/gm)?.length ?? 0;
const exclusiveIn = (log: string): number => log.match(/ exclusive$/gm)?.length ?? 0;

/** How much longer than asked a storm goes on where the machine is too busy for enough to happen. */
const MOST_TIMES = 10;

/**
 * Five processes that use and evict one namespace while they are killed, stopped and replaced, for so
 * many seconds and until `enough` has happened.
 */
async function storm(
  kind: 'kernel' | 'timed',
  seconds: number,
  enough: (storm: Storm) => boolean,
  own: readonly string[] = [],
): Promise<Storm> {
  const root = cleanup.tempDir('vole-storm-');
  mkdirSync(path.join(root, 'trash'));
  const running = new Map<string, ChildProcess>();
  let next = 0;
  const start = (): void => {
    const name = `p${next++}`;
    const [program = process.execPath, ...before] = own;
    if (own.length > 0) before.push(process.execPath);
    const args = [...before, stormer, root, kind, name];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.resume();
    running.set(name, child);
  };
  const kill = async (name: string, child: ChildProcess): Promise<void> => {
    running.delete(name);
    // Before it has begun, the program that makes its namespace would leave it behind.
    await until(`${name} has begun`, () => readLog(root).includes(` ${name}.`));
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} ended by itself`);
    appendFileSync(path.join(root, 'log'), `killing ${name}\n`);
    // Not `exit`: in a namespace that is of the program before it, which the storm's own process outlives a moment.
    const closed = once(child, 'close');
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await closed;
  };
  for (let n = 0; n < 5; n++) start();
  await until('all have begun', () => {
    const log = readLog(root);
    return [...running.keys()].every((name) => log.includes(` ${name}.`));
  });
  let kills = 0;
  let stops = 0;
  const soFar = (): Storm => ({ root, log: readLog(root), kills, stops });
  const begun = performance.now();
  const spent = (): number => (performance.now() - begun) / 1000;
  while (spent() < seconds || (!enough(soFar()) && spent() < seconds * MOST_TIMES)) {
    const victims = [...running];
    const [name, child] = victims[Math.floor(Math.random() * victims.length)] ?? [];
    if (!name || !child) break;
    if (own.length === 0 && Math.random() < 0.6) {
      child.kill('SIGSTOP');
      await delay(Math.random() * 500);
      child.kill('SIGCONT');
      stops++;
    } else {
      await kill(name, child);
      kills++;
      start();
    }
    await delay(Math.random() * 100);
  }
  await Promise.all([...running].map(([name, child]) => kill(name, child)));
  return soFar();
}

function readLog(root: string): string {
  try {
    return readFileSync(path.join(root, 'log'), 'utf8');
  } catch {
    return '';
  }
}

/** After the storm the lock can be had within a second. */
async function expectFree(root: string): Promise<void> {
  const wanted = new Guards(path.join(root, 'locks')).exclusive('ns');
  const guard = await withinASecond('the lock after the storm', wanted);
  guard.release();
}

test('no two exclusive holders and no lost file in a storm of kills and stops', async () => {
  const enough = ({ log, kills, stops }: Storm): boolean =>
    sharedIn(log) > 50 && exclusiveIn(log) > 10 && kills > 2 && stops > 2;
  const result = await storm('kernel', SECONDS, enough);
  expect(faultsIn(result.log)).toEqual([]);
  expect(enough(result), JSON.stringify({ ...result, log: result.log.length })).toBe(true);
  await expectFree(result.root);
});

test('the same storm finds a lock out that decides by time', async () => {
  const { log } = await storm('timed', Math.min(SECONDS, 4), ({ log }) => faultsIn(log).length > 0);
  expect(faultsIn(log).length).toBeGreaterThan(0);
});

test.runIf(process.getuid?.() === 0)(
  'the same with every process in a pid namespace of its own',
  async () => {
    const own = ['unshare', '-pf', '--kill-child', '--mount-proc'];
    const enough = ({ log, kills }: Storm): boolean => sharedIn(log) > 20 && kills > 2;
    const result = await storm('kernel', SECONDS / 2, enough, own);
    expect(faultsIn(result.log)).toEqual([]);
    expect(enough(result), JSON.stringify({ ...result, log: result.log.length })).toBe(true);
    await expectFree(result.root);
  },
);
