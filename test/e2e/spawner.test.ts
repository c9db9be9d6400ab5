import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
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
  it('gives back what it had started when it is killed, leaves none of it, and is started again', async () => {
    const again = path.join(rig.root, 'again');
    await rig.repository('o/r', {
      victim: {
        steps: [`echo begun; test -e ${again} || { touch ${again}; sleep 999; }`],
        env: { RIG: rig.root },
      },
      next: { steps: ['echo fine'] },
    });
    const [victim = 0, next = 0] = await rig.submit('o/r');
    const runner = rig.runner();
    await until('its step', () => existsSync(again));
    process.kill(spawnerOf(runner.pid), 'SIGKILL');
    expect(await rig.ended(victim)).toMatchObject({ state: 'passed', attempt: 2 });
    expect(ours()).toEqual([]);
    expect(await rig.rawLog(victim, 1)).toContain('the process that starts the steps was killed');
    expect(await rig.ended(next)).toMatchObject({ state: 'passed', attempt: 1 });
  });

  it('is killed by a step again and again: that run is lost at last, and executes nothing after it', async () => {
    await rig.repository('o/r', {
      killer: { steps: ['kill -9 $PPID; sleep 999', { run: 'echo never', if: 'always()' }] },
      once: { steps: ['kill -9 $PPID; sleep 999'], 'retry-lost': false },
    });
    const [killer = 0, once = 0] = await rig.submit('o/r');
    rig.runner();
    const ended = await rig.ended(killer);
    expect(ended).toMatchObject({ state: 'lost', reason: 'lost', attempt: 3 });
    expect(ended.detail).toContain('the process that starts the steps was killed');
    expect(ended.steps[0]).toMatchObject({ reason: 'lost' });
    expect(await rig.output(killer, 1)).not.toContain('never');
    expect(await rig.ended(once)).toMatchObject({ state: 'lost', attempt: 1 });
  });

  it('gives a step nothing that the runner was started with', async () => {
    await rig.repository('o/r', { a: { steps: ['for fd in /proc/self/fd/*; do readlink $fd || :; done'] } });
    const [id = 0] = await rig.submit('o/r');
    const lock = path.join(rig.root, 'a-lock');
    const locked = `exec 9>${lock} 200>${lock}; flock 200; exec "$0" "$@"`;
    rig.runner([], {}, ['bash', '-c', locked, process.execPath, path.resolve('bin/vole.cjs')]);
    expect((await rig.ended(id)).state).toBe('passed');
    expect(await rig.output(id)).toContain('/dev/null');
    expect(await rig.output(id)).not.toContain(lock);
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
