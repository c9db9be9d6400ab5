// What a job of `true` in a container costs a slot against `docker run --rm IMAGE true`, and a further step
// against `docker exec`, one and two at once. What is compared is measured in turns within one run, so that a
// busy machine slows both alike. `node bench/run.mjs containers [--json]` runs it; it needs an engine and
// /bin/busybox (Debian: busybox-static).
import { Rig } from '../test/support/e2e-rig.ts';
import { findEngine, type TestEngine } from '../test/support/engine-rig.ts';

const ROUNDS = 7;
/** One after the other in each slot. */
const JOBS = 4;
const STEPS = 11;
const TARGETS = { job: 1.3, step: 1.2 };

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

async function atOnce(count: number, work: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: count }, work));
}

async function times(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let at = 0; at < count; at += 1) await work();
}

/** Milliseconds of a slot for each of so many jobs, from the first lease to the last record. */
async function slotMs(rig: Rig, repository: string): Promise<number> {
  const ids = await rig.submit(repository);
  const runs = await Promise.all(ids.map((id) => rig.ended(id)));
  const failed = runs.find(({ state }) => state !== 'passed');
  if (failed) throw new Error(`run ${failed.id}: ${failed.detail}`);
  const start = Math.min(...runs.map(({ startedAtMs }) => startedAtMs ?? Number.NaN));
  const end = Math.max(...runs.map(({ endedAtMs }) => endedAtMs ?? Number.NaN));
  return (end - start) / JOBS;
}

async function measure(engine: TestEngine, rig: Rig, slots: number) {
  const { image } = engine;
  const jobs = (steps: number) => {
    const job = { image, steps: Array.from({ length: steps }, () => 'true') };
    return Object.fromEntries(Array.from({ length: JOBS * slots }, (_, at) => [`j${at}`, job]));
  };
  await rig.repository(`bench/one-${slots}`, jobs(1));
  await rig.repository(`bench/many-${slots}`, jobs(STEPS));
  const runner = rig.runner(['--jobs', String(slots), '--engine', engine.facts.name]);
  await runner.says(/ready/);
  const name = `vole-bench-${process.pid}`;
  await engine.call('run', '--detach', '--name', name, '--entrypoint', '/bin/sleep', image, '3600');
  const rounds: { run: number; job: number; exec: number; step: number }[] = [];
  try {
    await slotMs(rig, `bench/one-${slots}`); // threads, spawner and saved checkouts are there from now on
    for (let round = 0; round < ROUNDS; round += 1) {
      const run =
        (await timed(() =>
          atOnce(slots, () => times(JOBS, () => engine.call('run', '--rm', image, 'true'))),
        )) / JOBS;
      const job = await slotMs(rig, `bench/one-${slots}`);
      const execs = JOBS * (STEPS - 1);
      const exec =
        (await timed(() => atOnce(slots, () => times(execs, () => engine.call('exec', name, 'true'))))) /
        execs;
      const many = await slotMs(rig, `bench/many-${slots}`);
      rounds.push({ run, job, exec, step: (many - job) / (STEPS - 1) });
    }
  } finally {
    await engine.call('rm', '--force', name);
    runner.kill('SIGTERM');
    await runner.ended;
  }
  const of = (key: keyof (typeof rounds)[number]): number =>
    Math.round(median(rounds.map((round) => round[key])));
  const ratio = (above: 'job' | 'step', below: 'run' | 'exec'): number =>
    Number(median(rounds.map((round) => round[above] / round[below])).toFixed(2));
  return {
    slots,
    runMs: of('run'),
    jobMs: of('job'),
    jobRatio: ratio('job', 'run'),
    execMs: of('exec'),
    stepMs: of('step'),
    stepRatio: ratio('step', 'exec'),
  };
}

const found = await findEngine();
if (!found.ok) throw new Error(found.why);
const rig = await Rig.start();
try {
  const results = [await measure(found.engine, rig, 1), await measure(found.engine, rig, 2)];
  if (process.argv.includes('--json')) console.log(JSON.stringify({ results, targets: TARGETS }));
  else {
    console.log('at once   run --rm   job    ratio (at most 1.3)   exec   step   ratio (at most 1.2)');
    for (const { slots, runMs, jobMs, jobRatio, execMs, stepMs, stepRatio } of results) {
      const cells = [
        String(slots).padEnd(9),
        `${runMs} ms`.padEnd(10),
        `${jobMs} ms`.padEnd(6),
        String(jobRatio).padEnd(21),
      ];
      console.log([...cells, `${execMs} ms`.padEnd(6), `${stepMs} ms`.padEnd(6), stepRatio].join(' '));
    }
  }
} finally {
  await rig.close();
}
