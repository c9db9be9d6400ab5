import { afterAll, describe, expect, test } from 'vitest';
import type { ServiceSpec } from '../../src/shared/job-spec.ts';
import { ContainerRig } from '../support/container-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { until } from '../support/until.ts';

const engine = useEngine();
const rig = new ContainerRig(engine, { threads: 2 });
afterAll(() => rig.close());

/** Answers each connection with what the script prints. */
function answering(port: number, script: string): string {
  return `nc -ll -p ${port} -e /bin/sh -c ${JSON.stringify(script)}`;
}

function service(name: string, over: Partial<ServiceSpec> = {}): ServiceSpec {
  const image = engine().image;
  return { name, image, env: {}, command: ['sleep', '600'], healthCheck: null, readyPorts: null, ...over };
}

/** The busybox image has no entry point. */
const sh = (script: string): string[] => ['/bin/sh', '-c', script];

test('a service that needs 3 s is waited for, and is reached by its name', async () => {
  const run = await rig.run({
    services: [
      service('db', { command: sh(`sleep 3; ${answering(5432, 'echo from the db')}`), readyPorts: [5432] }),
    ],
    steps: ['nc -w 5 db 5432 </dev/null'],
  });
  expect(run.outcome).toMatchObject({ result: 'passed' });
  expect(run.lines('o')).toEqual(['from the db']);
  expect(run.lines('v', 0).join('\n')).toMatch(/service db is ready after [3-9]\.\d s/);
  expect(run.announcedObjects.sort()).toEqual([run.container, run.container, `${run.container}.db`]);
  expect(await rig.left()).toEqual([]);
});
