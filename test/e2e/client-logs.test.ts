import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { until } from '../support/until.ts';
import { VoleProcess } from '../support/vole-process.ts';

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

function vole(args: readonly string[]): VoleProcess {
  const running = new VoleProcess([...args, '--data', rig.dataDir]);
  rig.cleanup.defer(() => running.destroy());
  return running;
}

describe('vole logs and vole submit with a runner', () => {
  it('--wait prints every line behind its job and ends with 0 or 1', async () => {
    await rig.repository('team/app', {
      good: { steps: ['seq 1 500', 'printf end'] },
      bad: { steps: ['echo oops >&2; exit 3'] },
    });
    rig.runner(['--jobs', '2']);
    const good = vole(['submit', 'team/app', 'good', '--wait']);
    expect((await good.ended).code).toBe(0);
    const lines = good.stdout.split('\n').filter((line) => /^good \| (?:\d+|end)$/.test(line));
    expect(lines).toEqual([...Array.from({ length: 500 }, (_, i) => `good | ${i + 1}`), 'good | end']);
    expect(good.stdout).toMatch(/^✓ good #\d+ +passed +\d+\.\ds {2}\S/m);

    const bad = vole(['submit', 'team/app', 'bad', '--wait']);
    expect((await bad.ended).code).toBe(1);
    expect(bad.stdout).toContain('bad | oops\n');
    expect(bad.stdout).toMatch(/^✗ bad #\d+ +failed +\d.*: step 1 .*exit code 3$/m);
  });

  it('--json is an object a line, and a step or attempt that is not there ends with 66', async () => {
    await rig.repository('team/app', { job: { steps: ['echo one', 'echo two'] } });
    rig.runner();
    const [run = 0] = await rig.submit('team/app');
    await rig.ended(run);
    const logs = vole(['logs', String(run), '--step', '2', '--json']);
    expect((await logs.ended).code).toBe(0);
    const records = logs.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(records).toContainEqual({
      ms: expect.any(Number),
      step: 2,
      stream: 'o',
      text: 'two',
      continues: false,
    });
    for (const args of [
      ['--step', '9'],
      ['--attempt', '9'],
      ['--attempt', '9', '-f'],
    ]) {
      const none = vole(['logs', String(run), ...args]);
      expect((await none.ended).code).toBe(66);
      expect(none.stderr).toMatch(/^vole: run \d+ has no (?:step|attempt) 9: it (?:has 2|had 1)\n$/);
      expect(none.stdout).toBe('');
    }
  });

  it('vole why says that a runner pauses, and not that none is connected', async () => {
    await rig.repository('team/app', { job: { steps: ['true'] } });
    rig.runner(['--min-free', '100%']);
    const [run = 0] = await rig.submit('team/app');
    await until('the slot is connected', async () => (await rig.machines()).length > 0);
    const paused = await rig.runIs(run, (now) => now.wait?.reasons[0]?.code === 'paused');
    expect(paused).toMatchObject({ state: 'queued', wait: { place: null } });
    const why = vole(['why', String(run)]);
    await why.ended;
    expect(why.stdout).toMatch(
      /is queued\n  the runners that fit are connected and pause: .*--min-free.*\n$/,
    );
  });

  it('vole key rm takes the waiting slots away at once', async () => {
    await rig.repository('team/app', { job: { steps: ['true'] } });
    rig.runner();
    await until('the slot is connected', async () => (await rig.machines()).length > 0);
    expect((await vole(['key', 'rm', 'tester', '--all']).ended).code).toBe(0);
    await until('it is gone', async () => (await rig.machines()).length === 0);
    const [run = 0] = await rig.submit('team/app');
    await rig.runIs(run, (now) => now.wait?.reasons[0]?.code === 'no-runner');
    expect((await rig.run(run)).state).toBe('queued');
  });

  it('-f loses no line though the server is killed and started again on another port', async () => {
    const gate = path.join(rig.root, 'gate');
    mkdirSync(gate);
    const script = `seq 1 1000; while [ ! -e ${gate}/go ]; do sleep 0.05; done; seq 1001 2000`;
    await rig.repository('team/app', { job: { steps: [script] } });
    rig.runner(['--jobs', '1']);
    const ssh = rig.facts.ssh;
    const [run = 0] = await rig.submit('team/app');
    const logs = vole(['logs', String(run), '-f', '--step', '1']);
    await logs.says(/^1000$/m);
    rig.server.kill('SIGKILL');
    await rig.server.ended;
    await rig.startServer(['--http', '127.0.0.1:0', '--ssh', ssh]);
    writeFileSync(path.join(gate, 'go'), '');
    expect((await logs.ended).code).toBe(0);
    const numbers = logs.stdout.split('\n').filter((line) => /^\d+$/.test(line));
    expect(numbers).toEqual(Array.from({ length: 2000 }, (_, i) => String(i + 1)));
    expect(logs.stderr).toContain(`run ${run} passed`);

    const again = vole(['logs', String(run), '--step', '1']);
    expect((await again.ended).code).toBe(0);
    expect(again.stdout).toBe(logs.stdout);
  });

  it('the page of runners shows what each slot runs', async () => {
    const gate = path.join(rig.root, 'gate');
    await rig.repository('team/app', { job: { steps: [`while [ ! -e ${gate} ]; do sleep 0.05; done`] } });
    rig.runner(['--jobs', '2', '--machine', 'build-host']);
    const [run = 0] = await rig.submit('team/app');
    const page = await until('the page to show it', async () => {
      const text = await (await fetch(`${rig.facts.http}/runners`)).text();
      return text.includes('1 of 2 busy') ? text : null;
    });
    expect(page).toContain('build-host');
    expect(page).toContain(`href="/runs/${run}"`);
    writeFileSync(gate, '');
    await rig.ended(run);
  });
});
