import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/runner/session/connect.ts';
import type { Connect, SessionConnection } from '../../src/runner/session/session.ts';
import { guardName, namespaceName } from '../../src/shared/dir-layout.ts';
import { RunnerRig } from '../support/runner-rig.ts';
import { until } from '../support/until.ts';
import { withinASecond } from '../support/within-a-second.ts';

const worker = 'test/odd-worker.js';
const cacheGuard = guardName.namespace(
  namespaceName({ repository: 'team/app', trust: 'trusted', image: 'host' }),
);

let rig: RunnerRig;
beforeEach(() => {
  rig = new RunnerRig();
});
afterEach(() => rig.close());

/** What has to be true after any end of a thread: nothing runs, nothing is held, the slot goes on. */
async function nothingIsLeft(job: string): Promise<void> {
  expect(rig.marked(job)).toEqual([]);
  const guards = rig.guards();
  for (const name of [cacheGuard, 'git-odd']) {
    const held = guards.try(name, 'exclusive');
    expect(held, `${name} is free`).not.toBeNull();
    held?.release();
  }
  const next = await rig.queue('pass');
  expect(await rig.runEnded(next)).toMatchObject({ state: 'passed', attempt: 1 });
}

describe('a worker thread', () => {
  it('stuck in a loop is terminated when its run is cancelled, and its process is gone', async () => {
    await rig.start({ worker });
    const id = await rig.queue('loop', { key: 'stuck' });
    await until('its process', () => rig.marked('stuck').length === 1);
    expect(rig.guards().try('git-odd', 'exclusive')).toBeNull();
    await rig.server.store.runs.cancel(id, 'enough');
    expect(await rig.runEnded(id)).toMatchObject({ state: 'cancelled', attempt: 1 });
    await nothingIsLeft('stuck');
  });

  it.each([
    ['die unannounced', /died before it said so/],
    ['exit unannounced', /exit/],
    ['grow', /memory/i],
  ])('that does this: %s: fails its run alone and leaves no process', async (what, detail) => {
    await rig.start({ worker });
    const id = await rig.queue(what, { key: 'odd' });
    const run = await rig.runEnded(id);
    expect(run).toMatchObject({ state: 'failed', reason: 'worker-died', attempt: 1 });
    expect(run.detail).toMatch(detail);
    await nothingIsLeft('odd');
  });

  it('that fails to load fails its run with what it threw, and the next one where it loads again', async () => {
    const flag = path.join(rig.dir, 'broken');
    writeFileSync(flag, '');
    process.env['RIG_BROKEN'] = flag;
    rig.cleanup.defer(() => void delete process.env['RIG_BROKEN']);
    await rig.start({ worker });
    for (let round = 0; round < 2; round++) {
      const id = await rig.queue('pass');
      const run = await rig.runEnded(id);
      expect(run).toMatchObject({ state: 'failed', reason: 'worker-died' });
      expect(run.detail).toContain('this worker is broken');
    }
    rmSync(flag);
    await nothingIsLeft('none');
  });

  it('that dies takes no run of another slot with it', async () => {
    await rig.start({ worker, jobs: 2 });
    const other = await rig.queue('deaf', { key: 'other' });
    await until('the other process', () => rig.marked('other').length === 1);
    expect(await rig.runEnded(await rig.queue('exit unannounced', { key: 'odd' }))).toMatchObject({
      state: 'failed',
    });
    expect((await rig.run(other)).state).toBe('running');
    expect(rig.marked('other')).toHaveLength(1);
  });
});

describe('a run that answers no cancel', () => {
  it('is killed by the third signal, however long its grace is', async () => {
    await rig.start({ worker, killGraceMs: 3_600_000 });
    const id = await rig.queue('deaf', { key: 'deaf' });
    await until('its process', () => rig.marked('deaf').length === 1);
    for (let signal = 0; signal < 3; signal++) {
      if (signal > 0) await new Promise((resolve) => setTimeout(resolve, 1_050)); // else it is one signal
      rig.runner.signal();
    }
    expect(await rig.ended).toMatchObject({ exitStatus: 130 });
    expect(rig.marked('deaf')).toEqual([]);
    // nothing was reported of it: its lease runs, and the next start on this directory reports it lost
    expect((await rig.run(id)).state).toBe('running');
  });
});

describe('a refusal while the runner drains', () => {
  it('overrides draining: what runs is ended and the runner says why it was refused', async () => {
    const sessions: SessionConnection[] = [];
    let refusing = false;
    const orRefused: Connect = async (...args) => {
      const why = 'no repository matches';
      if (refusing) return { ok: false, disconnect: { reason: 'refused', code: 'repos', why } };
      const connected = await connect(...args);
      if (connected.ok) sessions.push(connected.session);
      return connected;
    };
    await rig.start({ worker, connect: orRefused });
    await rig.queue('deaf', { key: 'deaf' });
    await until('its process', () => rig.marked('deaf').length === 1);
    rig.runner.signal();
    refusing = true;
    for (const session of sessions) session.destroy();
    expect(await rig.ended).toMatchObject({ exitStatus: 78, error: 'no repository matches' });
    expect(rig.marked('deaf')).toEqual([]);
  });
});

describe('a server that is away when its runner is told to drain', () => {
  it('is waited for by no slot that has nothing', async () => {
    await rig.start({ worker: 'worker.js', jobs: 2, drainTimeoutMs: 600_000, backoffMs: () => 600_000 });
    await until('both slots', () => rig.said.filter((line) => line.startsWith('connected')).length === 2);
    await rig.server.close();
    const losses = () => rig.said.filter((line) => /"slot":\d,.*"tries"/.test(line));
    await until('they have lost it', () => losses().length >= 2);
    rig.runner.signal();
    expect(await withinASecond('the end of the runner', rig.ended)).toMatchObject({
      exitStatus: 0,
      error: null,
    });
  });
});

describe('a server that goes while its runner drains', () => {
  it('is waited for until the drain timeout, and the runner says which run it could not report', async () => {
    await rig.start({ worker: 'worker.js', drainTimeoutMs: 3_000 });
    const gate = path.join(rig.dir, 'go');
    const id = await rig.queue(`until [ -e ${gate} ]; do sleep 0.02; done`);
    await until('it was accepted', () => rig.said.some((line) => line.startsWith('run started')));
    rig.runner.signal();
    await rig.server.close();
    writeFileSync(gate, '');
    const end = await rig.ended;
    expect(end.exitStatus).toBe(130);
    expect(end.error).toContain(`run ${id} (passed)`);
  });
});
