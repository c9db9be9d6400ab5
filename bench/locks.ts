// What guards and trimming cost: shared holds a second, how soon a waiter goes on after a release and after a
// SIGKILL, and trimming 1,000 namespaces of 100,000 files against `du -s` and `rm -rf` of the same, with the
// event loop's longest stall meanwhile. `node bench/run.mjs locks [--json]` runs it on a built dist/.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Guards } from '../src/shared/lock/guard.ts';
import { type CacheRig, cacheRig, keyOf } from '../test/support/cache-rig.ts';
import { longestTurnMs } from '../test/support/main-thread-load.ts';

const HOLDS = 50_000;
const ROUNDS = 40;
const KILLS = 10;
const TURNS = 5;
const ROUNDS_OF_TRIM = 3;
const NAMESPACES = 1_000;
const FILES_EACH = 100;

const dist = path.resolve(import.meta.dirname, '..');
const root = mkdtempSync(path.join(os.tmpdir(), 'vole-bench-locks-'));

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function msOf(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}

function holdsPerSecond(guards: Guards): number {
  const ms = msOf(() => {
    for (let n = 0; n < HOLDS; n++) guards.try('bench', 'shared')?.release();
  });
  return (HOLDS / ms) * 1000;
}

async function wakeUpMs(guards: Guards): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const held = guards.try('bench', 'exclusive');
    const waiting = guards.shared('bench');
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
    const begun = performance.now();
    held?.release();
    (await waiting).release();
    times.push(performance.now() - begun);
  }
  return median(times);
}

/** From the signal to the grant, with a waiter queued. */
async function recoveryMs(guards: Guards, locks: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < KILLS; n++) {
    const file = path.join(dist, 'test/lock-holder.js');
    const child = spawn(process.execPath, [file, locks, 'bench', 'exclusive'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (child.stdout) await once(child.stdout, 'data');
    const waiting = guards.shared('bench');
    const begun = performance.now();
    child.kill('SIGKILL');
    (await waiting).release();
    times.push(performance.now() - begun);
  }
  return median(times);
}

/** As so many repositories' jobs leave them, with their records. */
async function fill(rig: CacheRig): Promise<void> {
  for (let n = 0; n < NAMESPACES; n++) {
    const held = await rig.namespaces.hold(keyOf(`team/r${n}`), new AbortController().signal);
    for (let m = 0; m < FILES_EACH; m++) writeFileSync(path.join(held.path, `f${m}`), 'x');
    held.release({ remove: false });
  }
}

async function msOfAsync(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** How long the event loop stood still at most, and for how long of it the main thread itself ran, ms. */
async function stallsOf(work: () => Promise<unknown>): Promise<{ loop: number; own: number }> {
  const stalls = monitorEventLoopDelay({ resolution: 1 });
  stalls.enable();
  const own = await longestTurnMs(work);
  stalls.disable();
  return { loop: stalls.max / 1e6, own };
}

/**
 * Each a number of times in turn with what it is compared with, since the machine is not the same from
 * one moment to the next; the fastest of each counts. The stalls of a round of their own, since looking
 * for them costs time itself.
 */
async function trimming() {
  const times = { du: [] as number[], measure: [] as number[], rm: [] as number[], trim: [] as number[] };
  let stalls = { measure: { loop: 0, own: 0 }, trim: { loop: 0, own: 0 } };
  for (let round = 0; round <= ROUNDS_OF_TRIM; round++) {
    const copy = path.join(root, `copy-${round}`);
    const rig = await cacheRig(path.join(root, `dir-${round}`), dist);
    await fill(rig);
    const measure = (): Promise<unknown> => rig.files.measure(rig.dir.layout.cache);
    const trim = async (): Promise<void> => {
      await rig.trimmer().trim();
      await rig.trash.settled();
    };
    if (round === ROUNDS_OF_TRIM) {
      stalls = { measure: await stallsOf(measure), trim: await stallsOf(trim) };
    } else {
      cpSync(rig.dir.layout.cache, copy, { recursive: true });
      for (let turn = 0; turn < TURNS; turn++) {
        times.du.push(msOf(() => execFileSync('du', ['-s', copy])));
        times.measure.push(await msOfAsync(measure));
      }
      times.rm.push(msOf(() => execFileSync('rm', ['-rf', copy])));
      times.trim.push(await msOfAsync(trim));
    }
    await rig.files.close();
  }
  const { du, measure, rm, trim } = times;
  const best = {
    du: Math.min(...du),
    measure: Math.min(...measure),
    rm: Math.min(...rm),
    trim: Math.min(...trim),
  };
  return { ...best, stalls };
}

try {
  const locks = path.join(root, 'locks');
  const guards = new Guards(locks);
  const { du, rm, measure, trim, stalls } = await trimming();
  const rows: [string, number, string][] = [
    ['shared holds a second', holdsPerSecond(guards), ''],
    ['release to the grant of a waiter, ms', await wakeUpMs(guards), ''],
    ['SIGKILL of a holder to the grant of a waiter, ms', await recoveryMs(guards, locks), '< 1000'],
    ['du -s of 100,000 files, ms', du, ''],
    ['measuring the same, ms', measure, ''],
    ['measuring over du -s', measure / du, '<= 1.5'],
    ['rm -rf of the same, ms', rm, ''],
    ['trim: measure, evict and delete all, ms', trim, ''],
    ['trim over du -s and rm -rf', trim / (du + rm), ''],
    ['longest stall of the event loop while measuring, ms', stalls.measure.loop, '<= 50'],
    ['longest stall of the event loop while trimming, ms', stalls.trim.loop, '<= 50'],
    ['of it at most the main thread itself ran, ms', Math.max(stalls.measure.own, stalls.trim.own), ''],
  ];
  if (process.argv.includes('--json')) {
    process.stdout.write(
      `${JSON.stringify(Object.fromEntries(rows.map(([name, value]) => [name, value])))}\n`,
    );
  } else {
    for (const [name, value, target] of rows) {
      process.stdout.write(`${name.padEnd(52)}${value.toFixed(2).padStart(12)}  ${target}\n`);
    }
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
