// What the locks and the trim of a runner's directory cost: shared acquire and release a second, how soon
// a waiter wakes, how soon a guard is free after SIGKILL of its holder, and a trim of 1,000 namespaces
// with 100,000 files beside `du -s` and `rm -rf` of the same in the same run, with the main thread's
// longest stall meanwhile. `node bench/run.mjs locks [--json] [--files N]` runs it, after `npm run build`.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { namespaceName } from '../src/shared/dir-layout.ts';
import { Guards } from '../src/shared/lock/guard.ts';
import { CacheRig } from '../test/support/cache-rig.ts';
import { Cleanup } from '../test/support/temp.ts';

const NAMESPACES = 1_000;
const ROUNDS = 50;
const KILLS = 10;
const STALL_TARGET_MS = 50;
const RECOVERY_TARGET_MS = 1_000;

interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: number;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function pairsASecond(guards: Guards): number {
  const begun = performance.now();
  let pairs = 0;
  for (; performance.now() - begun < 1_000; pairs += 1) guards.try('pairs', 'shared')?.release();
  return pairs;
}

/** A thread takes and frees it as it is told; milliseconds between its release and the grant here. */
async function wakeUps(dir: string, guards: Guards): Promise<number[]> {
  const thread = new Worker(new URL(import.meta.url), { workerData: { dir } });
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    thread.postMessage('take');
    await once(thread, 'message');
    const waiting = guards.exclusive('wake');
    thread.postMessage('free');
    const [freedAt] = (await once(thread, 'message')) as [number];
    (await waiting).release();
    times.push(Math.max(0, performance.timeOrigin + performance.now() - freedAt));
  }
  await thread.terminate();
  return times;
}

async function recoveries(dir: string, guards: Guards): Promise<number[]> {
  const times: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--hold', dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const waiting = guards.exclusive('kill');
    const begun = performance.now();
    child.kill('SIGKILL');
    (await waiting).release();
    times.push(performance.now() - begun);
  }
  return times;
}

function fill(folder: string, files: number): void {
  mkdirSync(folder, { recursive: true });
  execFileSync('sh', ['-c', 'seq 1 "$1" | xargs touch', 'sh', String(files)], { cwd: folder });
}

async function trims(dir: string, files: number): Promise<Row[]> {
  const each = Math.round(files / NAMESPACES);
  const plain = path.join(dir, 'plain');
  for (let at = 0; at < NAMESPACES; at += 1) fill(path.join(plain, `n${at}`), each);
  const cleanup = new Cleanup();
  const rig = await CacheRig.open(path.join(dir, 'runner'), cleanup);
  for (let at = 0; at < NAMESPACES; at += 1) {
    const key = { repository: `bench/r${at}`, trust: 'trusted', image: 'host' } as const;
    const name = namespaceName(key);
    fill(rig.dir.layout.namespace(name), each);
    rig.namespaces.records.used(name, key);
  }
  const measured = timed(() => execFileSync('du', ['-s', plain]));
  const removed = timed(() => execFileSync('rm', ['-rf', plain]));

  const stall = monitorEventLoopDelay({ resolution: 2 });
  stall.enable();
  const measuring = performance.now();
  await rig.trimmer({ cacheSize: { share: 1 } }).trim();
  const measuredMs = performance.now() - measuring;
  const removing = performance.now();
  const trimmed = await rig.trimmer().trim();
  const movedMs = performance.now() - removing;
  await rig.trash.settled();
  const removedMs = performance.now() - removing;
  stall.disable();
  if (trimmed?.cache.removed.length !== NAMESPACES)
    throw new Error(`trimmed ${trimmed?.cache.removed.length}`);
  await cleanup.run();
  const of = `${NAMESPACES} namespaces, ${files} files`;
  return [
    { what: `du -s of ${of}`, value: measured, unit: 'ms' },
    { what: 'trim that measures them and removes none', value: measuredMs, unit: 'ms' },
    { what: `rm -rf of ${of}`, value: removed, unit: 'ms' },
    { what: 'trim that removes them: out of the way', value: movedMs, unit: 'ms' },
    { what: 'trim that removes them: deleted', value: removedMs, unit: 'ms' },
    {
      what: 'longest stall of the main thread in both trims',
      value: stall.max / 1e6,
      unit: 'ms',
      target: STALL_TARGET_MS,
    },
  ];
}

function timed(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}

async function main(args: readonly string[]): Promise<void> {
  const files = args.includes('--files') ? Number(args[args.indexOf('--files') + 1]) : 100_000;
  const dir = mkdtempSync(path.join(os.tmpdir(), 'vole-bench-'));
  try {
    const locks = path.join(dir, 'locks');
    const guards = new Guards(locks);
    const woken = await wakeUps(locks, guards);
    const recovered = await recoveries(locks, guards);
    const rows: Row[] = [
      { what: 'shared acquire and release', value: pairsASecond(guards), unit: 'a second' },
      { what: 'wake-up after a release, median', value: median(woken), unit: 'ms' },
      { what: 'wake-up after a release, longest', value: Math.max(...woken), unit: 'ms' },
      { what: 'free after SIGKILL of the holder, median', value: median(recovered), unit: 'ms' },
      {
        what: 'free after SIGKILL of the holder, longest',
        value: Math.max(...recovered),
        unit: 'ms',
        target: RECOVERY_TARGET_MS,
      },
      ...(await trims(dir, files)),
    ];
    print(rows, args.includes('--json'));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function print(rows: readonly Row[], json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ bench: 'locks', cores: os.availableParallelism(), rows })}\n`);
  } else {
    for (const { what, value, unit, target } of rows) {
      const shown = value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
      const aim = target === undefined ? '' : `  (at most ${target}: ${value <= target ? 'kept' : 'MISSED'})`;
      process.stdout.write(`${what.padEnd(52)} ${shown.padStart(10)} ${unit}${aim}\n`);
    }
  }
  if (rows.some(({ value, target }) => target !== undefined && value > target)) process.exitCode = 1;
}

if (!isMainThread) {
  const guards = new Guards((workerData as { dir: string }).dir);
  let held = guards.try('wake', 'exclusive');
  held?.release();
  parentPort?.on('message', (what: string) => {
    if (what === 'take') {
      held = guards.try('wake', 'exclusive');
      parentPort?.postMessage('taken');
    } else {
      held?.release();
      parentPort?.postMessage(performance.timeOrigin + performance.now());
    }
  });
} else if (process.argv[2] === '--hold') {
  new Guards(process.argv[3] ?? '').try('kill', 'exclusive');
  process.stdout.write('held\n');
  setInterval(() => {}, 1_000);
} else {
  await main(process.argv.slice(2));
}
