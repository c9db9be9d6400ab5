import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { ServiceSpec } from '../../src/shared/job-spec.ts';
import { ContainerRig } from '../support/container-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { answering, imageOf, networksWith, serviceOf, sh } from '../support/service-rig.ts';
import { Cleanup } from '../support/temp.ts';

const engine = useEngine();
const rig = new ContainerRig(engine, { threads: 2 });
const cleanup = new Cleanup();
afterAll(async () => {
  await rig.close();
  await cleanup.run();
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'skip') return;
  expect(await rig.left()).toEqual([]);
  expect(await networksWith(engine(), rig.label)).toEqual([]);
});

const service = (name: string, over: Partial<ServiceSpec> = {}): ServiceSpec =>
  serviceOf(engine(), name, over);

describe('a service that never is ready fails the job in its bound', () => {
  test('with what was missing and the last of what it has said, without secrets', async () => {
    const said = 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; done; echo pass sesame-123456';
    const run = await rig.run(
      {
        secrets: { TOKEN: 'sesame-123456' },
        services: [
          service('db', { command: sh(`${said}; sleep 600`), readyPorts: [5432, 5433] }),
          service('fine'),
        ],
        steps: ['echo never'],
      },
      { serviceTimeoutMs: 3_000 },
    );
    expect(run.outcome).toMatchObject({
      result: 'failed',
      reason: 'service',
      detail: expect.stringMatching(
        /^service db was not ready in 3 s.*--service-timeout.*any of its ports 5432, 5433$/,
      ),
    });
    expect(run.lines('o')).toEqual([]);
    const lines = run.lines('v', 0);
    expect(lines.filter((line) => line.startsWith('db: '))).toHaveLength(100);
    expect(lines).toContain('db: line 300');
    expect(lines.filter((line) => line.startsWith('db: pass'))).toEqual(['db: pass ***']);
  });

  test('with what its health check printed', async () => {
    const run = await rig.run(
      { services: [service('db', { healthCheck: 'echo not yet; exit 3' })], steps: ['true'] },
      { serviceTimeoutMs: 4_000 },
    );
    expect(run.outcome.detail).toMatch(/its health check ended with exit code 3: not yet$/);
  });

  test('where its health check hangs', async () => {
    const run = await rig.run(
      { services: [service('db', { healthCheck: 'sleep 600' })], steps: ['true'] },
      { serviceTimeoutMs: 1_500 },
    );
    expect(run.outcome.detail).toMatch(/its health check did not end$/);
    expect(run.ms).toBeLessThan(30_000);
  });

  test('at once where it has no shell for its health check', async () => {
    const lines = [`FROM ${engine().image} AS from`, 'FROM scratch', 'COPY --from=from /bin/sleep /sleep'];
    const image = await imageOf(engine(), cleanup, lines);
    const run = await rig.run({
      services: [service('db', { image, command: ['/sleep', '600'], healthCheck: 'true' })],
      steps: ['true'],
    });
    expect(run.outcome.detail).toMatch(/its image has no \/bin\/sh to run the health check$/);
  });

  test('at once where it has ended, the others not waited for', async () => {
    const run = await rig.run({
      services: [
        service('db', { command: sh('echo no such option; exit 7'), readyPorts: [5432] }),
        service('slow', { readyPorts: [1] }),
      ],
      steps: ['true'],
    });
    expect(run.outcome).toMatchObject({
      reason: 'service',
      detail: 'service db was not ready: it has ended: exit code 7',
    });
    expect(run.lines('v', 0)).toContain('db: no such option');
  });

  test('where it has ended while another was waited for', async () => {
    const run = await rig.run({
      services: [
        service('db', { command: sh('sleep 1; exit 7') }),
        service('slow', { command: sh(`sleep 3; ${answering(1, 'echo')}`), readyPorts: [1] }),
      ],
      steps: ['echo never'],
    });
    expect(run.outcome).toMatchObject({ reason: 'service', detail: 'service db had ended: exit code 7' });
    expect(run.lines('o')).toEqual([]);
  });

  test('at once where its program is not there', async () => {
    const run = await rig.run({ services: [service('db', { command: ['/nope'] })], steps: ['true'] });
    expect(run.outcome).toMatchObject({
      reason: 'engine',
      detail: expect.stringMatching(/^service db.*nope/),
    });
  });

  test('at once where its image is not there', async () => {
    const run = await rig.run({ services: [service('db', { image: 'vole-no-such' })], steps: ['true'] });
    expect(run.outcome.detail).toBe('service db: image vole-no-such is not on this host');
  });
});

describe('a service that dies in mid-job', () => {
  const dies = (): ServiceSpec =>
    service('db', { command: sh('nc -l -p 5432; echo bad page >&2; exit 3'), readyPorts: [5432] });
  const killing = 'nc -w 5 db 5432 </dev/null; until [ -e go ]; do sleep 0.1; done';

  test('is in the log at once, and the steps decide what becomes of the run', async () => {
    const run = rig.start({ services: [dies()], steps: [killing, 'true'] });
    // The step is still running.
    await run.logged('service db has ended: exit code 3');
    await run.logged('db: bad page');
    writeFileSync(path.join(run.paths.src, 'go'), '');
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'passed', detail: '' });
  });

  test('is named in the outcome of a run that fails', async () => {
    const run = rig.start({ services: [dies()], steps: [`${killing}; exit 4`] });
    await run.logged('service db has ended');
    writeFileSync(path.join(run.paths.src, 'go'), '');
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({
      result: 'failed',
      reason: 'exit',
      detail: 'step 1 (s1): exit code 4; service db had ended: exit code 3',
    });
  });

  test('of want of memory is said to, with the limit', async () => {
    const hungry = `${answering(5432, 'touch /go')} & until [ -e /go ]; do sleep 0.1; done; exec tail /dev/zero`;
    const run = await rig.run(
      {
        services: [service('db', { command: sh(hungry), readyPorts: [5432] })],
        steps: ['nc -w 5 db 5432 </dev/null; while nc -w 2 db 5432 </dev/null; do sleep 0.1; done; exit 1'],
      },
      { limits: { memoryBytes: 16 * 1024 * 1024 } },
    );
    expect(run.outcome.detail).toMatch(/; service db had ended: out of memory: the limit is 16\.?0? ?MiB$/);
  });
});

test('a run that is cancelled while it waits for a service ends at once', async () => {
  const run = rig.start({ services: [service('db', { readyPorts: [5432] })], steps: ['true'] });
  await run.logged('service db of image');
  run.cancel('cancelled', 'by a person');
  const { outcome } = await run.ended;
  expect(outcome).toMatchObject({ result: 'cancelled', detail: 'by a person' });
});

test('what a thread that has died leaves is removed', async () => {
  const run = rig.start({
    services: [service('db', { command: sh(answering(1, 'echo')), readyPorts: [1] })],
    steps: ['echo here; sleep 600'],
  });
  await run.logged('here');
  await run.terminate();
  expect((await run.ended).end.type).toBe('died');
});
