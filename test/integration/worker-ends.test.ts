import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { until } from '../support/until.ts';
import { WorkerRig } from '../support/worker-rig.ts';

const rig = new WorkerRig();
const bare = new WorkerRig({ cgroup: false });
afterAll(async () => {
  await rig.close();
  await bare.close();
});

function left(run: { spec: { run: number } }, of: WorkerRig): number[] {
  const marker = `rig-${of.dir.split('/').at(-1)}/${run.spec.run}`;
  return processesWithEnv('VOLE_JOB_MARKER', marker).map((stat) => stat.pid);
}

describe.each([
  ['with a cgroup', rig],
  ['without a cgroup', bare],
])('%s', (kind, the) => {
  test('a step that passes', async () => {
    const run = await the.run({ steps: ['echo hello; echo there >&2'] });
    expect(run.outcome).toMatchObject({ result: 'passed', detail: '', reason: null });
    expect(run.lines('o')).toEqual(['hello']);
    expect(run.lines('e')).toEqual(['there']);
    expect(run.cgroup === null).toBe(kind === 'without a cgroup');
    expect(run.gonePgids).toEqual(run.announced);
    expect(run.logBytes).toBe(run.spoolBytes);
  });

  test('a background child does not hold the step: it ends within 3 seconds', async () => {
    const run = await the.run({ steps: ['sleep 60 & exit 0'] });
    expect(run.outcome.result).toBe('passed');
    expect(run.ms).toBeLessThan(3_000);
    expect(left(run, the)).toEqual([]);
  });

  test('nor does one that never stops to write: it is ended, and what it said until then is there', async () => {
    const run = await the.run({ steps: ['while :; do echo flood; done & sleep 0.1; exit 0', 'echo next'] });
    expect(run.outcome.result).toBe('passed');
    expect(run.ms).toBeLessThan(10_000);
    expect(run.lines('o')).toContain('flood');
    expect(run.lines('o', 2)).toEqual(['next']);
    expect(left(run, the)).toEqual([]);
  });

  test('a step that ends at once loses none of what its children still say', async () => {
    const step =
      '(sleep 0.05; echo late; echo later >&2) & head -c 60000 /dev/zero | tr "\\0" a; echo; exit 0';
    const run = await the.run({ steps: [step] });
    expect(run.outcome.result).toBe('passed');
    expect(run.lines('o').map((line) => line.length)).toEqual([60_000, 4]);
    expect(run.lines('e')).toEqual(['later']);
  });

  test('a cancel leaves no process of sh -c "sleep 999 & sleep 999"', async () => {
    const run = the.start({ steps: ["echo up; sh -c 'sleep 999 & sleep 999'"] });
    await run.logged('up');
    run.cancel();
    const { outcome, ms } = await run.ended;
    expect(outcome).toMatchObject({ result: 'cancelled', reason: 'cancelled', detail: 'by the test' });
    expect(ms).toBeLessThan(6_000);
    expect(left(run, the)).toEqual([]);
    expect(run.gonePgids).toEqual(run.announced);
  });

  test('a setsid daemon is gone after the step, and named where there is no cgroup', async () => {
    const run = await the.run({ steps: ['setsid sleep 777 >/dev/null 2>&1 & sleep 0.2; echo done'] });
    expect(run.outcome.result).toBe('passed');
    expect(left(run, the)).toEqual([]);
    const named = run.lines('v').filter((line) => line.includes('left the step'));
    expect(named).toHaveLength(run.cgroup === null ? 1 : 0);
  });
});

test('a trap on TERM gets its two seconds and its line is in the log', async () => {
  const run = rig.start({
    steps: ["trap 'sleep 2; echo bye; exit 3' TERM; echo up; while :; do sleep 0.1; done"],
  });
  await run.logged('up');
  run.cancel();
  const { outcome } = await run.ended;
  expect(outcome.result).toBe('cancelled');
  expect(run.lines('o')).toEqual(['up', 'bye']);
  expect(outcome.steps[0]).toMatchObject({ exitCode: 3, result: 'cancelled' });
});

test('a program that the shell started has the grace too, though the shell ends at once', async () => {
  const program = "trap 'sleep 2; echo bye; exit' TERM; echo up; while :; do sleep 0.1; done";
  for (const silent of ['', ' > quiet 2>&1']) {
    const run = rig.start({ steps: [`echo begin; sh -c "${program}"${silent}; echo never`] });
    await run.logged('begin');
    const quiet = path.join(run.paths.src, 'quiet');
    const said = () =>
      silent ? existsSync(quiet) && readFileSync(quiet, 'utf8') : run.lines('o').join('\n');
    await until('the program to be up', () => String(said()).includes('up'));
    run.cancel();
    expect((await run.ended).outcome.result).toBe('cancelled');
    expect(said()).toMatch(/up[^]*bye/);
  }
});

test('streams that a step closes before its end, or never uses, end nothing early', async () => {
  const closed = await rig.run({ steps: ['echo one; exec >&- 2>&-; sleep 0.3; exit 5'] });
  expect(closed.outcome.steps[0]).toMatchObject({ exitCode: 5 });
  expect(closed.outcome.steps[0]?.durationMs).toBeGreaterThan(250);
  expect(closed.lines('o')).toEqual(['one']);
});

test('a cancel before the first step, and two of them, are one cancel', async () => {
  const run = rig.start({ steps: ['echo never; sleep 50'] });
  run.cancel('cancelled', 'first');
  run.cancel('timeout', 'second');
  const { outcome, ms } = await run.ended;
  expect(outcome).toMatchObject({ result: 'cancelled', detail: 'first' });
  expect(ms).toBeLessThan(4_000);
});

test('a step that ignores TERM is killed after the grace', async () => {
  const run = rig.start({ steps: ["trap '' TERM; echo up; sleep 999"] }, { killGraceMs: 700 });
  await run.logged('up');
  const start = performance.now();
  run.cancel();
  const { outcome } = await run.ended;
  const ms = performance.now() - start;
  expect(ms).toBeGreaterThan(650);
  expect(ms).toBeLessThan(4_000);
  expect(outcome.steps[0]).toMatchObject({ signal: 'SIGKILL', exitCode: null });
  expect(left(run, rig)).toEqual([]);
});

test('a step over its time and a job over its time are timed-out, not failed', async () => {
  const step = await rig.run({ steps: [{ run: 'sleep 99', timeoutMs: 300 }] });
  expect(step.outcome).toMatchObject({ result: 'timed-out', reason: 'timeout' });
  expect(step.outcome.steps[0]?.result).toBe('timed-out');
  const job = await rig.run({ steps: ['sleep 99', 'echo never'], timeoutMs: 300 });
  expect(job.outcome).toMatchObject({ result: 'timed-out', reason: 'timeout' });
  expect(job.outcome.steps.map((one) => one.result)).toEqual(['timed-out', 'skipped']);
});

test('/dev/stderr, /dev/stdout and tee into them work', async () => {
  const run = await rig.run({
    steps: ['echo x > /dev/stderr; echo y | tee /dev/stdout; echo z > /dev/stdout; echo w | tee /dev/stderr'],
  });
  expect(run.outcome.result).toBe('passed');
  expect(run.lines('e')).toEqual(['x', 'w']);
  expect(run.lines('o')).toEqual(['y', 'y', 'z', 'w']);
});

test.each([
  ['exit 1', { reason: 'exit', exitCode: 1, signal: null, detail: 'exit code 1' }],
  ['exit 137', { reason: 'exit', exitCode: 137, signal: null, detail: 'exit code 137' }],
  ['kill -9 $$', { reason: 'signal', exitCode: null, signal: 'SIGKILL', detail: 'ended by SIGKILL' }],
  ['nonesuch-command', { reason: 'command-not-found', exitCode: 127 }],
  ['touch x; ./x', { reason: 'not-executable', exitCode: 126 }],
  ['exit 127', { reason: 'exit', exitCode: 127 }],
])('%s is reported as what it is', async (script, expected) => {
  const run = await rig.run({ steps: [script] });
  expect(run.outcome.steps[0]).toMatchObject({ result: 'failed', ...expected });
  expect(run.outcome).toMatchObject({ result: 'failed', reason: expected.reason });
});

test('a thread that is terminated leaves processes that the main thread ends; the next run goes on', async () => {
  const run = rig.start({ steps: ['echo up; sleep 999 & setsid sleep 998 & sleep 997'] });
  await run.logged('up');
  await run.terminate();
  const { end, gone } = await run.ended;
  expect(end.type).toBe('died');
  expect(gone).toBe(true);
  expect(left(run, rig)).toEqual([]);
  expect((await rig.run({ steps: ['true'] })).outcome.result).toBe('passed');
});

test('a thread ended at any moment in a storm of steps leaves no process and nothing open', async () => {
  const steps = Array.from({ length: 40 }, () => 'sleep 0.01 & sleep 50 & exit 0');
  const rounds = 12;
  for (let round = 0; round < rounds; round++) {
    const run = rig.start({ steps }, { pipeGraceMs: 5 });
    await until('some steps', () => run.announced.length > round);
    await delay(round);
    await run.terminate();
    const { gone } = await run.ended;
    expect(gone).toBe(true);
    expect(left(run, rig)).toEqual([]);
  }
  expect((await rig.run({ steps: ['echo on'] })).lines('o')).toEqual(['on']);
  const links = readdirSync('/proc/self/fd').map(linkOf);
  expect(links.filter((link) => link.startsWith(path.join(rig.dir, 'jobs')))).toEqual([]);
  expect(links.filter((link) => link.startsWith(path.join(rig.dir, 'fifos')))).toEqual([]);
});

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

test('what got away from a step cannot write into the log of another', async () => {
  const file = path.join(bare.dir, 'intruder');
  // The marker cleaned away, out of the group, no cgroup, its output still the step's.
  const away = `setsid env -i sh -c 'echo $$ > ${file}; while echo intruder; do sleep 0.01; done' &`;
  const first = await bare.run(
    { steps: [`${away} until [ -s ${file} ]; do sleep 0.01; done`] },
    { pipeGraceMs: 50 },
  );
  const pid = Number(readFileSync(file, 'utf8'));
  try {
    expect(first.outcome.result).toBe('passed');
    for (let turn = 0; turn < 3; turn += 1) {
      const next = await bare.run({ steps: ['sleep 0.1; echo mine', 'sleep 0.1; echo mine >&2'] });
      expect([next.lines('o', 1), next.lines('e', 1)]).toEqual([['mine'], []]);
      expect([next.lines('o', 2), next.lines('e', 2)]).toEqual([[], ['mine']]);
    }
  } finally {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // a write to the pipe that nobody reads any more has ended it
    }
  }
});
