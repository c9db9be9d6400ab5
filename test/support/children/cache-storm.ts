// Uses the namespaces of a directory at random until it is killed, and trims them, and says on its
// standard output what it saw go wrong. Arguments: dir, label, kind of guards (real or broken), seed.
// A thread of this same file does the same beside the main thread.
import { existsSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Namespaces } from '../../../src/runner/cache/namespaces.ts';
import { OwnersOf } from '../../../src/runner/cache/owners-of.ts';
import { SavedCheckouts } from '../../../src/runner/cache/saved-checkouts.ts';
import { Trimmer } from '../../../src/runner/cache/trimmer.ts';
import { FileThreads } from '../../../src/runner/dir/file-threads.ts';
import { openDir, type RunnerDir } from '../../../src/runner/dir/open-dir.ts';
import { Trash } from '../../../src/runner/dir/trash.ts';
import { BrokenGuards } from '../broken-guards.ts';
import { Random } from '../random.ts';

interface Job {
  readonly root: string;
  readonly label: string;
  readonly kind: string;
  readonly seed: number;
}

const job: Job = isMainThread
  ? {
      root: process.argv[2] ?? '',
      label: process.argv[3] ?? '',
      kind: process.argv[4] ?? '',
      seed: Number(process.argv[5]),
    }
  : (workerData as Job);
const random = new Random(job.seed);
const counts = { held: 0, exclusive: 0, removed: 0 };

/** `at` is a wall clock's time: those of all processes of a host agree. Not by a stream, which a kill would cut. */
function say(what: string, facts: object = {}): void {
  const line = JSON.stringify({ what, at: Date.now(), by: job.label, ...facts });
  if (parentPort) parentPort.postMessage(line);
  else writeSync(1, `${line}\n`);
}

const opened = await openDir(job.root);
const guards = job.kind === 'broken' ? new BrokenGuards(path.join(job.root, 'locks')) : opened.guards;
const dir: RunnerDir = { ...opened, guards: guards as RunnerDir['guards'] };
const files = new FileThreads(path.resolve(import.meta.dirname, '../file-thread.js'));
const trash = new Trash(dir.layout.trash, files, (line) => say('warning', { line }));
const owners = new OwnersOf(dir.layout.jobs);
const namespaces = new Namespaces(dir, trash, owners);
const quiet = () => {};
/** Others may be stopped for long: what is never granted shows as too few grants, and at the end. */
const NEVER = new AbortController().signal;
const trimmer = new Trimmer({
  dir,
  namespaces,
  saved: new SavedCheckouts(dir, trash, owners),
  files,
  trash,
  limits: { cacheSize: { bytes: 1 }, gitSize: { bytes: 1 }, minFree: { bytes: 0 } },
  log: {
    debug: quiet,
    info: quiet,
    warn: (facts, line) => /is tried again/.test(line) && say('fault', { line, ...facts }),
  },
});

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end) Math.sqrt(2);
}

async function useNamespace(turn: number): Promise<void> {
  const key = { repository: `team/r${random.below(10)}`, trust: 'trusted', image: 'host' } as const;
  const held = await namespaces.hold(key, NEVER);
  const { ino } = statSync(held.path);
  const file = path.join(held.path, `${job.label}-${turn}`);
  writeFileSync(file, 'x');
  if (random.chance(5)) block(150);
  else await delay(random.below(25));
  const now = statSync(held.path, { throwIfNoEntry: false });
  if (now?.ino !== ino || !existsSync(file)) say('lost', { name: held.name });
  held.release({ remove: random.chance(10) });
  counts.held += 1;
}

/** The name in the file is that of whoever has it alone; who finds another's name there says so. */
async function useAlone(turn: number): Promise<void> {
  const name = `fetch-${random.below(2)}`;
  const guard = await dir.guards.exclusive(name);
  const file = path.join(job.root, `alone-${name}`);
  const me = `${job.label} ${turn}`;
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (before !== '') say('beside', { accused: before.split(' ')[0] });
  writeFileSync(file, me);
  await delay(random.below(5));
  const after = readFileSync(file, 'utf8');
  if (after !== me) say('overwritten', { accused: after.split(' ')[0] });
  else writeFileSync(file, '');
  guard.release();
  counts.exclusive += 1;
}

async function use(): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    await (random.chance(70) ? useNamespace(turn) : useAlone(turn)).catch((error: unknown) =>
      say('fault', { line: String(error) }),
    );
    if (turn % 5 === 0) say('counts', counts);
  }
}

async function trim(): Promise<void> {
  for (;;) {
    const trimmed = await trimmer.trim();
    counts.removed += trimmed?.cache.removed.length ?? 0;
    await delay(50);
  }
}

/** Evicts without the trimmer's turn, as another process would that took it over. */
async function evict(): Promise<void> {
  for (;;) {
    for (const name of namespaces.records.names()) {
      if (namespaces.removeIfFree(name) === 'removed') counts.removed += 1;
    }
    await delay(50);
  }
}

if (isMainThread) {
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { ...job, label: `${job.label}t`, seed: job.seed + 1 },
  });
  thread.on('message', (line: string) => writeSync(1, `${line}\n`));
  void trim();
  void evict();
}
await Promise.all([use(), use()]);
