import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive, processesWithEnv, processStat } from '../../src/shared/platform/processes.ts';
import { Rig } from '../support/e2e-rig.ts';
import { until } from '../support/until.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

/** The process that starts the steps of a runner. */
function spawnerOf(runner: number): number {
  const children = readdirSync(`/proc/${runner}/task`).flatMap((task) =>
    readFileSync(`/proc/${runner}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  );
  const found = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('spawner.js'));
  if (found === undefined) throw new Error('the runner has no spawner');
  return found;
}

const ours = () => processesWithEnv('RIG', rig.root);

describe('the process that starts the steps', () => {
  it('fails the steps that it had started when it is killed, leaves none of them, and is started again', async () => {
    await rig.repository('o/r', {
      victim: { steps: ['echo begun; sleep 999'], env: { RIG: rig.root } },
      next: { steps: ['echo fine'] },
    });
    const [victim = 0, next = 0] = await rig.submit('o/r');
    const runner = rig.runner();
    await rig.logHas(victim, 'begun');
    process.kill(spawnerOf(runner.pid), 'SIGKILL');
    const ended = await rig.ended(victim);
    expect(ended).toMatchObject({ state: 'failed', reason: 'host' });
    expect(ended.detail).toContain('the process that starts the steps ended');
    expect(ours()).toEqual([]);
    expect(await rig.ended(next)).toMatchObject({ state: 'passed', attempt: 1 });
  });

  it('ends with its runner, however that ends, and outlives no drain', async () => {
    await rig.repository('o/r', { a: { steps: ['echo begun; sleep 999'], env: { RIG: rig.root } } });
    const [id = 0] = await rig.submit('o/r');
    const runner = rig.runner();
    await rig.logHas(id, 'begun');
    const spawner = spawnerOf(runner.pid);
    runner.kill('SIGKILL');
    await until('its end', () => !isAlive(processStat(spawner)));
    const second = rig.runner(['--kill-grace', '0', '--drain-timeout', '1']);
    await rig.runIs(id, (run) => run.attempt === 2 && run.state === 'running');
    await until('the second step', () => ours().length > 0);
    const another = spawnerOf(second.pid);
    second.kill('SIGTERM');
    expect((await second.ended).code).toBe(130);
    expect(isAlive(processStat(another))).toBe(false);
    expect(ours()).toEqual([]);
  });
});
