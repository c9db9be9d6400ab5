import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { Rig } from '../support/e2e-rig.ts';
import { until } from '../support/until.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

const four = (steps: string[]) =>
  Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`j${i}`, { steps, env: { RIG: rig.root } }]));
const ours = () => processesWithEnv('RIG', rig.root);

/** Four jobs in flight on a runner with four slots, and one queued behind them. */
async function fourInFlight(steps: string[], args: string[] = []) {
  await rig.repository('o/r', four(steps));
  const ids = await rig.submit('o/r');
  const runner = rig.runner(['--jobs', '4', ...args]);
  const inFlight = ids.slice(0, 4);
  for (const id of inFlight) await rig.logHas(id, 'begun');
  return { runner, inFlight, queued: ids[4] ?? 0 };
}

function leftovers(): string[] {
  return ['jobs', 'trash'].flatMap((name) => {
    const folder = path.join(rig.root, 'dir', name);
    return existsSync(folder) ? readdirSync(folder).map((file) => `${name}/${file}`) : [];
  });
}

describe('a first SIGTERM', () => {
  it('lets four jobs finish and report, leases nothing more and ends with 0', async () => {
    const gate = path.join(rig.root, 'go');
    const steps = [`echo begun; until [ -e ${gate} ]; do sleep 0.02; done; echo finished`];
    const { runner, inFlight, queued } = await fourInFlight(steps);
    runner.kill('SIGTERM');
    await runner.says(/runner is draining/);
    writeFileSync(gate, '');
    expect((await runner.ended).code).toBe(0);
    for (const id of inFlight) {
      expect(await rig.run(id)).toMatchObject({ state: 'passed', attempt: 1 });
      expect(await rig.output(id)).toBe('begun\nfinished');
    }
    expect(await rig.run(queued)).toMatchObject({ state: 'queued', attempt: 0 });
    expect(leftovers()).toEqual([]);
  });

  it('followed by SIGINT after 10 ms is one clean ending', async () => {
    const gate = path.join(rig.root, 'go');
    const { runner, inFlight } = await fourInFlight([
      `echo begun; until [ -e ${gate} ]; do sleep 0.02; done`,
    ]);
    runner.kill('SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 10));
    runner.kill('SIGTERM');
    await runner.says(/runner is draining/);
    writeFileSync(gate, '');
    expect((await runner.ended).code).toBe(0);
    for (const id of inFlight) expect((await rig.run(id)).state).toBe('passed');
  });
});

describe('a runner that has not reached its server', () => {
  it('ends at the first SIGTERM: nothing is in flight', async () => {
    const runner = rig.runner(['--server', 'ssh://tester@127.0.0.1:1']);
    await runner.says(/"tries":1/);
    runner.kill('SIGTERM');
    expect((await runner.ended).code).toBe(0);
  });

  it('ends with 72 where git is not on the host', async () => {
    const runner = rig.runner([], { PATH: path.join(rig.root, 'nothing') });
    expect((await runner.ended).code).toBe(72);
    expect(runner.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^vole: git is not on this host/),
    ]);
  });
});

describe('a SIGHUP, as of a terminal that closes', () => {
  it('drains as SIGTERM does', async () => {
    const gate = path.join(rig.root, 'go');
    const steps = [`echo begun; until [ -e ${gate} ]; do sleep 0.02; done; echo finished`];
    const { runner, inFlight } = await fourInFlight(steps);
    runner.kill('SIGHUP');
    await runner.says(/runner is draining/);
    writeFileSync(gate, '');
    expect((await runner.ended).code).toBe(0);
    for (const id of inFlight) expect(await rig.run(id)).toMatchObject({ state: 'passed', attempt: 1 });
  });
});

describe('a run cancelled while its artifacts are sent', () => {
  it('ends as cancelled, and what needs it does not run', async () => {
    const artifacts = [{ name: 'big', paths: ['big'] }];
    await rig.repository('o/r', {
      art: { steps: ['head -c 150000000 /dev/urandom > big; echo made'], artifacts },
      dep: { steps: ['true'], needs: ['art'] },
    });
    const [art = 0, dep = 0] = await rig.submit('o/r');
    rig.runner();
    await until('the artifact is packed', async () => (await rig.rawLog(art)).includes('bytes packed'));
    await rig.api('POST', `/api/runs/${art}/cancel`, {});
    expect(await rig.ended(art)).toMatchObject({ state: 'cancelled' });
    expect(await rig.ended(dep)).toMatchObject({ state: 'cancelled', attempt: 0 });
  });
});

describe('a second SIGTERM', () => {
  it('gives all four back, leaves no process of theirs, and does not count them as lost', async () => {
    const { runner, inFlight } = await fourInFlight(
      ['echo begun; sleep 999 & sleep 999'],
      ['--kill-grace', '1'],
    );
    expect(ours().length).toBeGreaterThanOrEqual(4);
    runner.kill('SIGTERM');
    await runner.says(/runner is draining/);
    await runner.killAgain();
    expect((await runner.ended).code).toBe(130);
    expect(ours()).toEqual([]);
    expect(leftovers()).toEqual([]);
    for (const id of inFlight) expect(await rig.run(id)).toMatchObject({ state: 'queued', lostCount: 0 });
    rig.runner(['--jobs', '4']);
    for (const id of inFlight) await rig.runIs(id, (run) => run.state === 'running' && run.attempt === 2);
  });

  it('is what the drain timeout is', async () => {
    const { runner, inFlight } = await fourInFlight(
      ['echo begun; sleep 999'],
      ['--drain-timeout', '1', '--kill-grace', '0'],
    );
    runner.kill('SIGTERM');
    expect((await runner.ended).code).toBe(130);
    for (const id of inFlight) expect(await rig.run(id)).toMatchObject({ state: 'queued' });
    expect(ours()).toEqual([]);
  });
});

/** A runner that starts now reports the run as it had ended, and leaves nothing of it. */
async function theNextReports(id: number, result: string): Promise<void> {
  expect(ours()).toEqual([]);
  expect(leftovers()).toEqual([expect.stringMatching(`^jobs/${id}-1\\.`)]);
  const next = rig.runner();
  await next.says(new RegExp(`reported as ${result}`));
  expect(await rig.output(id, 1)).toContain('begun');
  await rig.ended(id);
  next.kill('SIGTERM');
  expect((await next.ended).code).toBe(0);
  expect(leftovers()).toEqual([]);
}

describe('a run that a runner ends without a report', () => {
  const only = async (steps: string[]) => {
    await rig.repository('o/r', { a: { steps, env: { RIG: rig.root } } });
    const [id = 0] = await rig.submit('o/r');
    const runner = rig.runner(['--kill-grace', '60']);
    await rig.logHas(id, 'begun');
    return { id, runner };
  };

  it('at a third SIGTERM is queued again by the next start, at once, and not as a loss', async () => {
    const deaf = "trap '' TERM; echo begun; while :; do sleep 0.1; done";
    const { id, runner } = await only([`[ $VOLE_ATTEMPT = 2 ] || { ${deaf}; }`]);
    runner.kill('SIGTERM');
    await runner.killAgain();
    await runner.killAgain();
    expect((await runner.ended).code).toBe(130);
    expect(runner.stderr).toContain(`not reported: run ${id} (interrupted)`);
    await theNextReports(id, 'interrupted');
    expect(await rig.run(id)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 0 });
  });

  it.each([
    { signal: 'SIGTERM', before: 'nobody else' },
    { signal: 'SIGKILL', before: 'nobody else' },
    { signal: 'SIGKILL', before: 'a runner of another account' },
  ] as const)(
    'since its server is away is reported as it ended by the next start ($signal, then $before)',
    async ({ signal, before }) => {
      const [gate, executed] = [path.join(rig.root, 'go'), path.join(rig.root, 'executed')];
      const { id, runner } = await only([
        `echo begun; until [ -e ${gate} ]; do sleep 0.02; done; echo once >> ${executed}`,
      ]);
      const { ssh, http } = rig.facts;
      rig.server.kill('SIGKILL');
      await rig.server.ended;
      await runner.says(/"tries":1/);
      writeFileSync(gate, '');
      const [tree = ''] = leftovers();
      const record = path.join(rig.root, 'dir', tree, 'owner.jsonl');
      await until('its end is written down', () => readFileSync(record, 'utf8').includes('"ended"'));
      runner.kill(signal);
      if (signal === 'SIGTERM') await runner.killAgain();
      expect((await runner.ended).code).toBe(signal === 'SIGTERM' ? 130 : null);
      if (signal === 'SIGTERM') expect(runner.stderr).toContain(`not reported: run ${id} (passed)`);
      await rig.startServer(['--ssh', ssh, '--http', http.replace('http://', '')]);
      if (before === 'a runner of another account') {
        const key = path.join(rig.root, 'other');
        execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
        await rig.addAccount('other', key);
        const other = rig.runner([
          '--once',
          '--lease-wait',
          '1',
          '--key',
          key,
          '--server',
          `ssh://other@${ssh}`,
        ]);
        await other.says(/passed: left to a runner of its server and account/);
        expect((await other.ended).code).toBe(0);
      }
      await theNextReports(id, 'passed');
      expect(await rig.run(id)).toMatchObject({ state: 'passed', attempt: 1 });
      expect(readFileSync(executed, 'utf8')).toBe('once\n');
    },
  );
});

describe('a cancelled run', () => {
  async function cancelled(step: string, args: string[] = []) {
    await rig.repository('o/r', {
      victim: { steps: [step], env: { RIG: rig.root } },
      next: { steps: ['echo next'] },
    });
    const [victim = 0, next = 0] = await rig.submit('o/r');
    const runner = rig.runner(['--kill-grace', '3', ...args]);
    await rig.logHas(victim, 'begun');
    await rig.api('POST', `/api/runs/${victim}/cancel`, {});
    const ended = await rig.ended(victim);
    expect(await rig.ended(next)).toMatchObject({ state: 'passed' });
    expect(ours()).toEqual([]);
    runner.kill('SIGTERM');
    return { ended, output: await rig.output(victim) };
  }

  it('leaves no process, and its slot takes the next run', async () => {
    const { ended } = await cancelled("echo begun; sh -c 'sleep 999 & sleep 999'");
    expect(ended).toMatchObject({ state: 'cancelled', attempt: 1 });
  });

  it('gets its grace after TERM, and what it says then is in the log', async () => {
    const { ended, output } = await cancelled(
      "trap 'sleep 2; echo bye; exit 0' TERM; echo begun; while :; do sleep 0.1; done",
    );
    expect(ended.state).toBe('cancelled');
    expect(output).toContain('bye');
  });

  it('is killed after the grace where it ignores TERM', async () => {
    const { ended } = await cancelled("trap '' TERM; echo begun; while :; do sleep 0.1; done");
    expect(ended.state).toBe('cancelled');
  });
});

describe('a run over its time', () => {
  it('is timed-out, not failed', async () => {
    await rig.repository('o/r', { slow: { 'timeout-minutes': 0.02, steps: ['sleep 999'] } });
    const [id = 0] = await rig.submit('o/r');
    rig.runner(['--kill-grace', '0']);
    expect(await rig.ended(id)).toMatchObject({ state: 'timed-out', reason: 'timeout' });
  });
});
