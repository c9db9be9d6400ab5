import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { JobCgroups } from '../../src/runner/runs/job-cgroups.ts';
import {
  cgroupMembers,
  cgroupPopulated,
  makeCgroup,
  ownCgroup,
  removeCgroup,
} from '../../src/shared/platform/cgroup.ts';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';
import { WorkerRig } from '../support/worker-rig.ts';

const parent = ownCgroup();
const made = parent && makeCgroup(parent, `vole-test-${process.pid}`);
const allowed = made !== null && removeCgroup(made);

describe.skipIf(!allowed)('the cgroup of a job', () => {
  const cleanup = new Cleanup();
  let cgroups: JobCgroups;
  let at = 0;
  beforeEach(() => {
    cgroups = new JobCgroups(parent, `vole-test-${process.pid}-${at++}`);
    cleanup.defer(() => cgroups.close());
  });
  afterEach(() => cleanup.run());

  const rig = new WorkerRig();
  afterAll(() => rig.close());

  const take = (): string => cgroups.take() ?? '';

  function runIn(cgroup: string): ChildProcess {
    const child = spawn('sleep', ['300'], { stdio: 'ignore' });
    cleanup.defer(() => void child.kill('SIGKILL'));
    writeFileSync(path.join(cgroup, 'cgroup.procs'), String(child.pid));
    return child;
  }

  test('is used again', () => {
    const first = take();
    cgroups.give(first, true);
    expect(take()).toBe(first);
  });

  test('that the job froze is given to the next one thawed', () => {
    const first = take();
    writeFileSync(path.join(first, 'cgroup.freeze'), '1');
    cgroups.give(first, true);
    expect(readFileSync(path.join(take(), 'cgroup.freeze'), 'latin1').trim()).toBe('0');
  });

  test.each([
    ['has cgroups below it', (cgroup: string) => mkdirSync(path.join(cgroup, 'a', 'b'), { recursive: true })],
    ['may have none below it', (cgroup: string) => writeFileSync(path.join(cgroup, 'cgroup.max.depth'), '0')],
    ['is not there any more', (cgroup: string) => rmdirSync(cgroup)],
  ])('that %s is not used again and is removed', (_, change) => {
    const first = take();
    change(first);
    cgroups.give(first, true);
    expect(existsSync(first)).toBe(false);
    const second = take();
    expect(second).not.toBe(first);
    expect(existsSync(second)).toBe(true);
  });

  test('is populated while a process is hidden below it, and is not given to another job', async () => {
    const first = take();
    const hidden = path.join(first, 'a', 'b');
    mkdirSync(hidden, { recursive: true });
    const child = runIn(hidden);
    expect(cgroupPopulated(first)).toBe(true);
    expect(cgroupMembers(first)).toEqual([child.pid]);
    cgroups.give(first, true);
    expect(take()).not.toBe(first);
    child.kill('SIGKILL');
    await until('its end', () => !cgroupPopulated(first));
    cgroups.close();
    expect(existsSync(first)).toBe(false);
  });

  test('hides no process of a step below it', async () => {
    const run = rig.start({
      steps: [
        // Joined after a moment; then a cgroup of its own, a session of its own, no environment.
        'sleep 0.5; mkdir "$CG/a"; setsid env -i HID=1 sh -c "echo \\$\\$ > $CG/a/cgroup.procs; exec sleep 600" >/dev/null 2>&1 & sleep 1',
      ],
      env: { CG: path.join(parent ?? '', `vole-${path.basename(rig.dir)}-1`) },
    });
    const { outcome, gone } = await run.ended;
    expect(outcome.result).toBe('passed');
    expect(gone).toBe(true);
    expect(processesWithEnv('HID', '1')).toEqual([]);
  });
});
