import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { until } from '../support/until.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

/** Jobs that wait for a file, so that a test decides when they end. */
const waitsFor = (file: string) => ({ steps: [`until [ -e ${file} ]; do sleep 0.02; done`] });
const jobs = (count: number, job: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`j${i}`, job])) as never;

async function runnersPage({ facts }: Rig): Promise<string> {
  return await (await fetch(`${facts.http}/runners`, { headers: { accept: 'text/html' } })).text();
}

describe('vole runner --jobs 4', () => {
  it('does each start-up step once and then runs four jobs at once, one a session, on four threads', async () => {
    const gate = `${rig.root}/go`;
    await rig.repository('o/r', jobs(5, waitsFor(gate)));
    const ids = await rig.submit('o/r');
    const runner = rig.runner(['--jobs', '4', '--log-level', 'debug']);
    await runner.says(/ready/);
    for (const id of ids.slice(0, 4)) await rig.runIs(id, (run) => run.state === 'running');
    // Presence follows the queue by a moment: the lease is durable before its reply is on its way.
    const machine = await until('four busy slots', async () => {
      const [one] = await rig.machines();
      return one?.busy === 4 && one;
    });
    expect(machine.slots).toBe(4);
    const busy = machine.sessions.flatMap((session) => session.run?.id ?? []);
    expect(new Set(busy)).toEqual(new Set(ids.slice(0, 4)));
    expect((await rig.run(ids[4] ?? 0)).state).toBe('queued');
    const page = await runnersPage(rig);
    expect(page).toContain('4 of 4 busy');
    expect(page).toContain('jobs claim 4 of 4 cores');

    await until('four threads', () => runner.stderr.match(/"msg":"on thread"/g)?.length === 4);
    const lines = runner.stderr
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const steps = lines.filter((line) => line['msg'] === 'start-up').map((line) => line['step']);
    expect(steps).toEqual(['tools', 'directory', 'engine', 'sweep', 'saved checkouts', 'probe']);
    const firstRun = lines.findIndex((line) => line['msg'] === 'run started');
    expect(lines.findLastIndex((line) => line['msg'] === 'start-up')).toBeLessThan(firstRun);
    const threads = lines.flatMap((line) => (line['msg'] === 'on thread' ? [line['thread']] : []));
    expect(new Set(threads).size).toBe(4);

    writeFileSync(gate, '');
    for (const id of ids) expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 1 });
  });

  it('gives twenty runs workspaces of their own', async () => {
    const job = {
      steps: ['test -z "$(ls -A)"; echo $VOLE_RUN > marker; sleep 0.05; cat marker; ls -A | wc -l'],
    };
    await rig.repository('o/r', jobs(20, job));
    const ids = await rig.submit('o/r');
    rig.runner(['--jobs', '4']);
    for (const id of ids) {
      expect(await rig.ended(id)).toMatchObject({ state: 'passed' });
      expect(await rig.output(id)).toBe(`${id}\n1`);
    }
  });
});

describe('the cores of a runner', () => {
  it('are shared out by its slots, so that no job is leased that does not fit', async () => {
    const gate = `${rig.root}/go`;
    const runner = rig.runner(['--jobs', '4', '--cpus', '3']);
    await runner.says(/ready/);
    await until('four slots that ask', async () => (await rig.machines())[0]?.sessions.length === 4);
    await rig.repository('o/r', jobs(6, { ...waitsFor(gate), cpus: 1.5 }));
    const ids = await rig.submit('o/r');
    await until('two jobs', async () => (await rig.machines())[0]?.busy === 2);
    const waiting = (await rig.runs()).filter(({ state }) => state === 'queued');
    expect(waiting).toHaveLength(4);
    const { wait } = await rig.run(waiting[0]?.id ?? 0);
    expect(wait?.reasons[0]?.text).toContain('when 1.5 cpus are free: beside an idle slot 0 are now');
    writeFileSync(gate, '');
    for (const id of ids) expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 1 });
  });
});

describe('a job that wants all cores', () => {
  it('is not kept from them for ever by small ones that came later', async () => {
    const server = await Rig.start(['--keep-room-after', '1s']);
    try {
      const gate = (name: string) => `${server.root}/${name}`;
      await server.repository('o/r', {
        first: waitsFor(gate('first')),
        second: waitsFor(gate('second')),
        large: { steps: ['true'], cpus: 2 },
        later: { steps: ['true'] },
      });
      const [first = 0, second = 0, large = 0, later = 0] = await server.submit('o/r');
      server.runner(['--jobs', '2', '--cpus', '2']);
      for (const id of [first, second]) await server.runIs(id, (run) => run.state === 'running');
      // From then on it waits too long.
      const { queuedAtMs } = await server.run(large);
      await until('a second has passed', () => Date.now() - (queuedAtMs ?? 0) > 1_000);
      writeFileSync(gate('first'), '');
      await server.runIs(large, (run) =>
        Boolean(run.wait?.reasons[0]?.text.includes('which takes no later run until then')),
      );
      expect(await runnersPage(server)).toMatch(new RegExp(`keeps room for <a href="/runs/${large}"`));
      await server.runIs(later, (run) =>
        Boolean(run.wait?.reasons[0]?.text.includes(`when run ${large} has begun`)),
      );
      writeFileSync(gate('second'), '');
      const ends = await Promise.all([large, later].map((id) => server.ended(id)));
      expect(ends.map(({ state, attempt }) => [state, attempt])).toEqual([
        ['passed', 1],
        ['passed', 1],
      ]);
      expect(ends[0]?.startedAtMs ?? 0).toBeLessThan(ends[1]?.startedAtMs ?? 0);
    } finally {
      await server.close();
    }
  });
});

describe('vole runner', () => {
  it('is one session and one job at a time by default', async () => {
    const gate = `${rig.root}/go`;
    await rig.repository('o/r', jobs(2, waitsFor(gate)));
    const [first = 0, second = 0] = await rig.submit('o/r');
    await rig.runner().says(/ready/);
    await rig.runIs(first, (run) => run.state === 'running');
    const [machine] = await rig.machines();
    expect(machine?.sessions).toHaveLength(1);
    expect((await rig.run(second)).state).toBe('queued');
    writeFileSync(gate, '');
    const [one, two] = [await rig.ended(first), await rig.ended(second)];
    expect(two.startedAtMs ?? 0).toBeGreaterThanOrEqual(one.endedAtMs ?? Infinity);
  });

  it('takes one run with --once and ends though two are queued', async () => {
    await rig.repository('o/r', jobs(2, { steps: ['true'] }));
    const [first = 0, second = 0] = await rig.submit('o/r');
    const ended = await rig.runner(['--once']).ended;
    expect(ended.code).toBe(0);
    expect(await rig.run(first)).toMatchObject({ state: 'passed' });
    expect(await rig.run(second)).toMatchObject({ state: 'queued', attempt: 0 });
  });

  it.each([
    { queued: 3, taken: 2 },
    { queued: 1, taken: 1 },
    { queued: 0, taken: 0 },
  ])('takes $taken with --jobs 2 --once where $queued are queued, and ends', async ({ queued, taken }) => {
    await rig.repository('o/r', jobs(Math.max(queued, 1), { steps: ['true'] }));
    const ids = queued > 0 ? await rig.submit('o/r') : [];
    const runner = rig.runner(['--jobs', '2', '--once', '--lease-wait', '1']);
    expect((await runner.ended).code).toBe(0);
    const states = await Promise.all(ids.map(async (id) => (await rig.run(id)).state));
    expect(states.filter((state) => state === 'passed')).toHaveLength(taken);
    expect(states.filter((state) => state === 'queued')).toHaveLength(queued - taken);
  });

  it('says with --exit-status whether its run passed', async () => {
    await rig.repository('o/r', { bad: { steps: ['exit 3'] } });
    await rig.submit('o/r');
    expect((await rig.runner(['--once', '--exit-status']).ended).code).toBe(1);
    await rig.submit('o/r');
    expect((await rig.runner(['--once']).ended).code).toBe(0);
  });
});
