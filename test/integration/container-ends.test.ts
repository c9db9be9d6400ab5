import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { CLIENT_MARKER_ENV } from '../../src/shared/engine/engine.ts';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { ContainerRig } from '../support/container-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { until } from '../support/until.ts';

const engine = useEngine();
const rig = new ContainerRig(engine, { threads: 2 });
afterAll(() => rig.close());

const MIB = 1024 * 1024;

/** Takes 200 MB at once. */
const GREEDY = 'dd if=/dev/zero of=/dev/null bs=200M count=1';

/** The same by three, so that none of them is what the kernel takes for the worst. */
const SHARED_OUT = 'for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=30M count=10000 & done; wait';

describe('a run that is cancelled', () => {
  test('gives a trap inside its grace, and its line is in the log', async () => {
    const run = rig.start({
      steps: ["trap 'sleep 1; echo cleaned; exit 3' TERM; echo up; while :; do sleep 0.1; done"],
    });
    await run.logged('up');
    run.cancel();
    const { outcome, ms } = await run.ended;
    expect(outcome).toMatchObject({ result: 'cancelled', detail: 'by the test' });
    expect(run.lines('o')).toEqual(['up', 'cleaned']);
    expect(ms).toBeLessThan(15_000);
    expect(await rig.left()).toEqual([]);
  });

  test('is killed after the grace with all that ignores TERM, sessions of their own included', async () => {
    const deaf =
      "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 555\" &) ; echo up; while :; do sleep 1; done";
    const run = rig.start(
      { steps: [deaf, { run: 'echo never', if: 'always' }] },
      { task: { killGraceMs: 500 } },
    );
    await run.logged('up');
    run.cancel();
    const { outcome, ms } = await run.ended;
    expect(outcome.steps.map(({ result }) => result)).toEqual(['cancelled', 'skipped']);
    expect(ms).toBeLessThan(20_000);
    expect(await rig.left()).toEqual([]);
  });

  test('while its container is just being made has no container after it', async () => {
    const run = rig.start({ steps: ['echo never'] });
    await until('the container to be announced', () => run.announcedObjects.length > 0);
    run.cancel();
    const { outcome } = await run.ended;
    expect(outcome.result).toBe('cancelled');
    expect(run.lines('o')).toEqual([]);
    expect(await rig.left()).toEqual([]);
  });
});

test('a step out of time is timed-out, and what follows it runs in the same container', async () => {
  const steps = [
    { run: 'touch /mark; sleep 300 & wait', timeoutMs: 700 },
    { run: 'ls /mark; ps -o args | grep -c "sleep 300$"', if: 'always' as const },
  ];
  const run = await rig.run({ steps }, { task: { killGraceMs: 200 } });
  expect(run.outcome).toMatchObject({ result: 'timed-out', reason: 'timeout' });
  expect(run.lines('o', 2)).toEqual(['/mark', '0']);
});

describe('memory', () => {
  const limits = { memoryBytes: 64 * MIB };

  test('that a step takes beyond the limit ends it at once as out of memory, with the limit', async () => {
    const run = await rig.run({ steps: [{ run: GREEDY, continueOnError: true }, 'exit 1'] }, { limits });
    expect(run.outcome.steps[0]).toMatchObject({
      reason: 'out-of-memory',
      detail: 'out of memory: the limit is 64 MiB',
    });
    expect(run.outcome.steps[0]?.durationMs).toBeLessThan(10_000);
    // What befell one step is not said of the next.
    expect(run.outcome.steps[1]).toMatchObject({ reason: 'exit', exitCode: 1 });
  });

  test('taken by something whose failure the step bears is not why a later step failed', async () => {
    const run = await rig.run({ steps: [`${GREEDY} || echo borne`, 'exit 1'] }, { limits });
    expect(run.lines('o', 1)).toEqual(['borne']);
    expect(run.lines('v', 1)).toContain(
      'a process of this step was killed, out of memory: the limit is 64 MiB',
    );
    expect(run.outcome.steps.map(({ reason }) => reason)).toEqual([null, 'exit']);
  });

  test("that is taken from the container's main process is the same", async () => {
    const run = await rig.run(
      { steps: [`echo 1000 >/proc/1/oom_score_adj; ${SHARED_OUT}; sleep 60`, { run: 'true', if: 'always' }] },
      { limits },
    );
    expect(run.outcome.steps[0]).toMatchObject({ result: 'failed', reason: 'out-of-memory' });
    expect(run.outcome.steps[1]).toMatchObject({ result: 'failed', reason: 'out-of-memory' });
    expect(await rig.left()).toEqual([]);
  });
});

test('a fork bomb stops at the limit of processes, and its container goes with it', async () => {
  // The step itself forks nothing more: a shell that cannot would end, and the step with it.
  const bomb = 'set +e; f() { f & f & sleep 30; }; f & exec sleep 300';
  const run = rig.start(
    { steps: [{ run: bomb, timeoutMs: 4_000 }] },
    { limits: { pids: 60 }, task: { killGraceMs: 500 } },
  );
  await run.logged("can't fork");
  const id = await engine().call('inspect', '--format', '{{.Id}}', run.container);
  const find = `cat $(find /sys/fs/cgroup -path '*${id}*' -name pids.current) | sort -n | tail -1`;
  for (let look = 0; look < 20; look++) {
    expect(Number(execFileSync('sh', ['-c', find], { encoding: 'utf8' }))).toBeLessThanOrEqual(60);
  }
  const { outcome } = await run.ended;
  expect(outcome).toMatchObject({ result: 'timed-out' });
  expect(await rig.left()).toEqual([]);
});

describe('a container that ends under its step', () => {
  test('fails it in one line, and nothing is left', async () => {
    const run = rig.start({ steps: ['echo up; sleep 60'] });
    await run.logged('up');
    await engine().call('kill', run.container);
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'failed', reason: 'engine' });
    expect(outcome.detail).toMatch(/the container has ended \(exit code 137\)/);
    expect(await rig.left()).toEqual([]);
  });

  test('and is removed by somebody is said so', async () => {
    const run = rig.start({ steps: ['echo up; sleep 60'] });
    await run.logged('up');
    await engine().call('rm', '--force', run.container);
    expect((await run.ended).outcome).toMatchObject({ reason: 'engine' });
  });

  test('cannot be ended by the step: its signals to the main process do nothing', async () => {
    const run = await rig.run({ steps: ['kill -TERM 1; kill -KILL 1; kill -HUP 1; sleep 0.2; echo on'] });
    expect(run.outcome.result).toBe('passed');
    expect(run.lines('o')).toEqual(['on']);
  });
});

test('a client that somebody ends does not make a step of it that has passed', async () => {
  const run = rig.start({ steps: ['echo up; sleep 60'] });
  await run.logged('up');
  const [pgid = 0] = run.announced.slice(-1);
  process.kill(-pgid, 'SIGTERM');
  const { outcome, ms } = await run.ended;
  expect(outcome).toMatchObject({ result: 'failed', reason: 'engine' });
  expect(outcome.detail).toMatch(/exec ended before the step/);
  expect(ms).toBeLessThan(30_000);
});

test('a thread that ends at any moment leaves no container', async () => {
  for (const ms of [0, 60, 150, 300, 600, 1_200]) {
    const run = rig.start({ steps: ['echo up; sleep 60'] });
    await until('the container to be announced', () => run.announcedObjects.length > 0);
    await delay(ms);
    await run.terminate();
    expect((await run.ended).end.type).toBe('died');
    // What a client still makes would only be there later.
    const marker = `rig-${path.basename(rig.rig.dir)}/${run.spec.run}`;
    await until('its clients to end', () => processesWithEnv(CLIENT_MARKER_ENV, marker).length === 0);
    expect(await rig.left(), `${ms} ms after its announcement`).toEqual([]);
  }
});

test('no secret is on a command line, nor in what the engine tells of a container', async () => {
  const secret = 'correct-horse-battery';
  const run = rig.start({
    secrets: { TOKEN: secret },
    env: { PLAIN: 'staple' },
    steps: ['echo up $TOKEN; sleep 3'],
  });
  await run.logged('up');
  const said = execFileSync('sh', ['-c', 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "'], {
    encoding: 'utf8',
    maxBuffer: 1e8,
  });
  expect(said).toContain(run.container);
  expect(said).not.toContain(secret);
  expect(said).not.toContain('staple');
  const inspected = await engine().call('inspect', run.container);
  expect(inspected).not.toContain(secret);
  const clients = processesWithEnv('VOLE_JOB_MARKER', `rig-${path.basename(rig.rig.dir)}/${run.spec.run}`);
  expect(clients.length).toBeGreaterThan(0);
  const { outcome } = await run.ended;
  expect(outcome.result).toBe('passed');
  expect(run.lines('o')).toEqual(['up ***']);
});
