import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
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

/** A connection from the job to a service. */
const ask = (host: string, port: number): string => `nc -w 5 ${host} ${port} </dev/null`;

test('a service that needs 3 s is waited for, and is reached by its name', async () => {
  const command = sh(`sleep 3; ${answering(5432, 'echo from the db')}`);
  const run = await rig.run({
    services: [service('db', { command, readyPorts: [5432] })],
    steps: [ask('db', 5432)],
  });
  expect(run.outcome).toMatchObject({ result: 'passed' });
  expect(run.lines('o')).toEqual(['from the db']);
  expect(run.lines('v', 0).join('\n')).toMatch(/service db is ready after ([2-9]|\d\d+)\.\d s/);
  // The network has the name of the job's container.
  expect(run.announcedObjects.sort()).toEqual([run.container, run.container, `${run.container}.db`]);
});

test('two jobs with a service of the same name at once each have their own', async () => {
  const start = (tag: string, other: string) =>
    rig.start({
      services: [service('db', { command: sh(answering(5432, `echo ${tag}`)), readyPorts: [5432] })],
      // Neither goes on before the other is there.
      steps: [`touch /cache/${tag}; until [ -e /cache/${other} ]; do sleep 0.1; done`, ask('db', 5432)],
    });
  const [one, two] = [start('one', 'two'), start('two', 'one')];
  const outcomes = [(await one.ended).outcome.result, (await two.ended).outcome.result];
  expect(outcomes).toEqual(['passed', 'passed']);
  expect([one.lines('o', 2), two.lines('o', 2)]).toEqual([['one'], ['two']]);
});

test('services reach one another and the job, by their names', async () => {
  const relay = answering(7000, 'nc -w 5 db 5432; nc -w 5 job 9000');
  const run = await rig.run({
    services: [
      service('db', { command: sh(answering(5432, 'echo db')), readyPorts: [5432] }),
      service('relay', { command: sh(relay), readyPorts: [7000] }),
    ],
    steps: [
      `${answering(9000, 'echo job')} & until nc -w 1 job 9000; do sleep 0.1; done; ${ask('relay', 7000)}`,
    ],
  });
  expect(run.outcome.result).toBe('passed');
  expect(run.lines('o').slice(-2)).toEqual(['db', 'job']);
});

describe('it is ready', () => {
  test('by its health check, which has its environment', async () => {
    const run = await rig.run({
      services: [
        service('db', {
          env: { MARK: 'made' },
          command: sh('sleep 1; touch /made; sleep 600'),
          healthCheck: '# a script of\n[ -e "/$MARK" ] # several lines',
        }),
      ],
      steps: ['true'],
    });
    expect(run.outcome).toMatchObject({ result: 'passed' });
  });

  test("by its image's health check", async () => {
    const check = 'HEALTHCHECK --interval=1s CMD [ -e /made ]';
    const image = await imageOf(engine(), cleanup, [`FROM ${engine().image}`, check]);
    const command = sh(`sleep 1; touch /made; ${answering(80, 'ls /made')}`);
    const run = await rig.run({ services: [service('web', { image, command })], steps: [ask('web', 80)] });
    expect(run.outcome).toMatchObject({ result: 'passed' });
    expect(run.lines('o')).toEqual(['/made']);
  });

  test('by any port that its image exposes', async () => {
    const image = await imageOf(engine(), cleanup, [`FROM ${engine().image}`, 'EXPOSE 80 443 53/udp']);
    const command = sh(`sleep 1; ${answering(443, 'echo tls')}`);
    const run = await rig.run({ services: [service('web', { image, command })], steps: [ask('web', 443)] });
    expect(run.outcome).toMatchObject({ result: 'passed' });
    expect(run.lines('o')).toEqual(['tls']);
  });

  test('only once it listens for others than itself', async () => {
    const command = sh('httpd -f -p 127.0.0.1:5432');
    const run = await rig.run(
      { services: [service('db', { command, readyPorts: [5432] })], steps: ['true'] },
      { serviceTimeoutMs: 1_500 },
    );
    expect(run.outcome.detail).toMatch(/nothing listens on its port 5432/);
  });
});

test('its environment is exact, and stands on no command line', async () => {
  const env = {
    SPACES: '  two before and after  ',
    QUOTES: `'"\`\\ \\n "'`,
    EXPANSION: '$(id) $HOME ${PATH} `id` # no comment = x',
    UNICODE: 'é ü 😀 \u0001',
    EMPTY: '',
    LARGE: 'x'.repeat(59_000),
    DOCKER_HOST: 'tcp://192.0.2.1:1',
  };
  const print = Object.keys(env).map((name) => `printf "%s|" "$${name}"`);
  const run = rig.start({
    services: [service('db', { env, command: sh(answering(1, print.join(';'))), readyPorts: [1] })],
    steps: [ask('db', 1)],
  });
  const over = run.ended.then(() => true);
  // Those of the engine's clients, and of whatever else runs here meanwhile.
  const seen = new Set<string>();
  do {
    for (const line of commandLines()) seen.add(line);
  } while (!(await Promise.race([over, delay(5, false)])));
  expect((await run.ended).outcome).toMatchObject({ result: 'passed' });
  expect(run.lines('o').join('\n')).toBe(`${Object.values(env).join('|')}|`);
  const clients = [...seen].filter((line) => line.includes(`${run.container}.db`));
  expect(clients.length).toBeGreaterThan(0);
  for (const value of ['two before', 'no comment', 'xxxxxxxx']) {
    expect(clients.filter((line) => line.includes(value))).toEqual([]);
  }
});

function commandLines(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, 'latin1')];
    } catch {
      return []; // it has just ended
    }
  });
}

test('a service has nothing of the job: no mount, no secret, no variable', async () => {
  const said = answering(1, 'env; ls -d /workspace /cache /vole');
  const run = await rig.run({
    env: { OF_THE_JOB: 'x' },
    secrets: { TOKEN: 'sesame-123456' },
    services: [service('db', { command: sh(said), readyPorts: [1] })],
    steps: [`${ask('db', 1)} | cut -d= -f1 | sort`],
  });
  expect(run.lines('o')).toEqual(['HOME', 'HOSTNAME', 'PATH', 'PWD', 'SHLVL']);
});
