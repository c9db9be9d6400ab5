// What a lease costs as the backlog grows, and how many lease-and-finish pairs a second sixteen sessions
// reach with group commit, against the same with a commit for each write. What is compared is measured in
// turns within one run, so that a busy machine slows both alike. `node bench/run.mjs queue [--json]` runs it.
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { openSqliteStore } from '../src/server/store/open.ts';
import type { Store } from '../src/server/store/store.ts';
import { aClaim, newPipeline, newRun, outcome } from '../test/support/store-rig.ts';

const SMALL = 100;
const LARGE = 100_000;
/** What runs of the large one have asked for that are over: other cores each. */
const PAST_CLASSES = 2_000;
const ROUNDS = 40;
const LEASES_A_ROUND = 25;
const TARGET = 1.5;
const SESSIONS = 16;
const PAIR_ROUNDS = 8;
const PAIRS_A_ROUND = 500;
const REPOSITORIES = 20;

async function fill(store: Store, runs: number): Promise<void> {
  const each = Math.ceil(runs / REPOSITORIES);
  for (let at = 0; at < REPOSITORIES; at += 1) {
    for (let done = 0; done < each; done += 1_000) {
      const keys = Array.from({ length: Math.min(1_000, each - done) }, (_, key) => `job-${key}`);
      await store.runs.createPipeline(
        newPipeline(
          keys.map((key) => newRun({ key })),
          { repository: `bench/r${at}` },
        ),
      );
    }
  }
}

/** Runs that were cancelled. */
async function fillPast(store: Store): Promise<void> {
  const runs = Array.from({ length: PAST_CLASSES }, (_, at) =>
    newRun({ key: `past-${at}`, cpus: (1 + at) / 1_000 }),
  );
  const { runs: ids } = await store.runs.createPipeline(newPipeline(runs, { repository: 'bench/past' }));
  await Promise.all(ids.map((id) => store.runs.cancel(id, 'past')));
}

/** Leases and gives back, so that the backlog stays as it is. Microseconds a lease. */
async function leaseRound(store: Store): Promise<number> {
  let spent = 0;
  for (let at = 0; at < LEASES_A_ROUND; at += 1) {
    const before = performance.now();
    const run = await store.runs.claim(aClaim({ session: 'bench' }));
    spent += performance.now() - before;
    if (run === null) throw new Error('nothing to lease');
    await store.runs.sessionEnded('bench');
  }
  return (spent / LEASES_A_ROUND) * 1_000;
}

/** Writes of sessions that run at once share commits; those of one session never do: each is awaited. */
async function pairsASecond(store: Store, sessions: number): Promise<number> {
  let left = PAIRS_A_ROUND;
  const session = async (name: string) => {
    while (left > 0) {
      left -= 1;
      const run = await store.runs.claim(aClaim({ session: name }));
      if (run === null) throw new Error('nothing to lease');
      await store.runs.record('build1', run.run, run.attempt, outcome('passed'), 0);
    }
  };
  const before = performance.now();
  await Promise.all(Array.from({ length: sessions }, (_, at) => session(`s${at}`)));
  return PAIRS_A_ROUND / ((performance.now() - before) / 1_000);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

interface Result {
  readonly leaseMicroseconds: Readonly<Record<number, number>>;
  readonly ratio: number;
  readonly target: number;
  readonly sessions: number;
  readonly pairsASecond: number;
  readonly pairsASecondOneCommitEach: number;
}

function table(result: Result): string {
  const { leaseMicroseconds: lease, pairsASecond, pairsASecondOneCommitEach } = result;
  const gain = (pairsASecond / pairsASecondOneCommitEach).toFixed(1);
  const rows: readonly (readonly [string, string])[] = [
    [`lease with ${SMALL} queued`, `${lease[SMALL]} us`],
    [`lease with ${LARGE} queued, ${PAST_CLASSES} classes of the past`, `${lease[LARGE]} us`],
    ['ratio', `${result.ratio} (target: at most ${result.target})`],
    [
      `lease and finish, ${result.sessions} sessions, shared commits`,
      `${pairsASecond} a second (${gain} times)`,
    ],
    ['lease and finish, a commit for each write', `${pairsASecondOneCommitEach} a second`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, figure]) => `${name.padEnd(width)}  ${figure}\n`).join('');
}

const dir = mkdtempSync(path.join(os.tmpdir(), 'vole-bench-queue-'));
const small = await openSqliteStore(path.join(dir, 'small.db'));
const large = await openSqliteStore(path.join(dir, 'large.db'));
try {
  await Promise.all([fill(small, SMALL), fill(large, LARGE)]);
  await fillPast(large);
  await leaseRound(small);
  await leaseRound(large);
  const [smalls, larges]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    smalls.push(await leaseRound(small));
    larges.push(await leaseRound(large));
  }
  const ratio = median(larges) / median(smalls);
  const [grouped, single]: [number[], number[]] = [[], []];
  for (let round = 0; round < PAIR_ROUNDS; round += 1) {
    grouped.push(await pairsASecond(large, SESSIONS));
    single.push(await pairsASecond(large, 1));
  }
  const result = {
    leaseMicroseconds: { [SMALL]: Math.round(median(smalls)), [LARGE]: Math.round(median(larges)) },
    ratio: Number(ratio.toFixed(2)),
    target: TARGET,
    sessions: SESSIONS,
    pairsASecond: Math.round(median(grouped)),
    pairsASecondOneCommitEach: Math.round(median(single)),
  };
  process.stdout.write(
    process.argv.includes('--json') ? `${JSON.stringify(result, null, 2)}\n` : table(result),
  );
  process.exitCode = ratio <= TARGET ? 0 : 1;
} finally {
  await small.close();
  await large.close();
  rmSync(dir, { recursive: true, force: true });
}
