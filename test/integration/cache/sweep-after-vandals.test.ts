import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ProcessSeats } from '../../../src/runner/dir/process-seats.ts';
import { cgroupName } from '../../../src/runner/runs/job-cgroups.ts';
import { type Swept, sweep } from '../../../src/runner/sweep/sweep.ts';
import { makeCgroup, ownCgroup, removeCgroup } from '../../../src/shared/platform/cgroup.ts';
import { isAlive, processStat } from '../../../src/shared/platform/processes.ts';
import { type CacheRig, cacheRig, identityOf, keyOf } from '../../support/cache-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

const dist = path.resolve(import.meta.dirname, '../../../dist');
const cleanup = new Cleanup();
const NAME = '7-1.0123abcd';
let rig: CacheRig;
let tree: string;
beforeEach(async () => {
  rig = await cacheRig(path.join(cleanup.tempDir(), 'dir'), dist);
  cleanup.defer(() => rig.files.close());
  tree = path.join(rig.dir.layout.jobs, NAME);
  mkdirSync(tree);
});
afterEach(() => cleanup.run());

async function sweepAs(name: string): Promise<Swept> {
  const seat = new ProcessSeats(rig.dir).take(name);
  cleanup.defer(() => seat.release());
  return await sweep(rig.dir, rig.trash, name);
}

/** A process that a job left running. */
function leftover(env: Record<string, string> = {}): ChildProcess {
  const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore', env: { ...process.env, ...env } });
  cleanup.defer(() => void child.kill('SIGKILL'));
  return child;
}

const lives = (child: ChildProcess): boolean => isAlive(processStat(child.pid ?? 0));

describe('an owner record that its job', () => {
  const record = (): string => path.join(tree, 'owner.jsonl');

  test.each([
    ['replaced by a FIFO', () => execFileSync('mkfifo', [record()])],
    ['replaced by a link to what never ends', () => symlinkSync('/dev/zero', record())],
    ['replaced by a directory', () => mkdirSync(record())],
    [
      'made larger than memory',
      () => {
        writeFileSync(record(), JSON.stringify(identityOf(rig.dir)));
        truncateSync(record(), 1e12);
      },
    ],
    ['left empty, as a host does that loses power', () => writeFileSync(record(), '')],
  ])('%s leads by the marker to its processes, which end before the tree goes', async (_, vandalise) => {
    vandalise();
    const mine = leftover({ VOLE_JOB_MARKER: `${rig.dir.id}/${NAME}` });
    expect((await sweepAs('one')).lines).toEqual([
      `removed ${NAME} in jobs/, which has an owner record that cannot be read`,
    ]);
    await until('its end', () => !lives(mine));
    expect(readdirSync(rig.dir.layout.jobs)).toEqual([]);
  });

  test('spoilt keeps every namespace while another runner lives, which is said once', async () => {
    await sweepAs('other');
    mkdirSync(tree);
    writeFileSync(record(), '{"version":2}\n');
    const held = await rig.namespaces.hold(keyOf('o/n'), AbortSignal.timeout(20_000));
    writeFileSync(path.join(held.path, 'file'), 'x'.repeat(10_000));
    held.release({ remove: false });
    expect((await sweepAs('one')).lines.join()).toContain('other runners live');
    const trimmer = rig.trimmer();
    for (let turn = 0; turn < 2; turn += 1) expect((await trimmer.trim())?.cache.removed).toEqual([]);
    const said = rig.warnings.filter((line) => line.includes(`jobs/${NAME} has an owner record that cannot`));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('vole cache verify');
  });

  test('spoilt is no matter where several runners start after all have died', async () => {
    writeFileSync(record(), '');
    const others = ['two', 'three'].map((name) => new ProcessSeats(rig.dir).take(name));
    expect((await sweepAs('one')).lines.join()).toContain(`removed ${NAME}`);
    for (const seat of others) seat.release();
  });

  test('removed leads by the marker to its processes, which end before the tree goes', async () => {
    const mine = leftover({ VOLE_JOB_MARKER: `${rig.dir.id}/${NAME}` });
    const other = leftover({ VOLE_JOB_MARKER: `${rig.dir.id}0/${NAME}` });
    expect((await sweepAs('one')).lines).toEqual([`removed ${NAME} in jobs/, which has no owner record`]);
    await until('its end', () => !lives(mine));
    expect(lives(other)).toBe(true);
    expect(readdirSync(rig.dir.layout.jobs)).toEqual([]);
  });

  test('removed with the whole tree leads by the marker to its processes too', async () => {
    rmSync(tree, { recursive: true });
    const mine = leftover({ VOLE_JOB_MARKER: `${rig.dir.id}/${NAME}` });
    await sweepAs('one');
    await until('its end', () => !lives(mine));
  });

  test('removed costs nothing while another runner lives, whose job it may be', async () => {
    await sweepAs('other');
    mkdirSync(tree);
    const mine = leftover({ VOLE_JOB_MARKER: `${rig.dir.id}/${NAME}` });
    expect((await sweepAs('one')).lines.join()).toContain('other runners live');
    expect(lives(mine)).toBe(true);
    expect(existsSync(tree)).toBe(true);
  });
});

test('the spool of a dead run may be anything', async () => {
  writeFileSync(
    path.join(tree, 'owner.jsonl'),
    `${JSON.stringify(identityOf(rig.dir, { bootId: 'earlier' }))}\n`,
  );
  execFileSync('mkfifo', [path.join(tree, 'log')]);
  const { dead } = await sweepAs('one');
  const { SpoolReader } = await import('../../../src/runner/runs/spool-reader.ts');
  for (const run of dead) expect(SpoolReader.left(run.spool)).toBeNull();
  expect(dead).toHaveLength(1);
});

test.skipIf(!canMakeCgroups())(
  'cgroups of a dead process go with all that runs in or below them',
  async () => {
    rmSync(tree, { recursive: true });
    const parent = ownCgroup() ?? '';
    const folder = makeCgroup(parent, cgroupName(rig.dir.id, 'dead')) ?? '';
    cleanup.defer(() => void removeCgroup(folder));
    const hidden = path.join(folder, 'job-0', 'a', 'b');
    mkdirSync(hidden, { recursive: true });
    const kept = makeCgroup(parent, cgroupName(rig.dir.id, 'other')) ?? '';
    cleanup.defer(() => void removeCgroup(kept));
    const seat = new ProcessSeats(rig.dir).take('other');
    cleanup.defer(() => seat.release());
    const [gone, stays] = [leftover(), leftover()];
    writeFileSync(path.join(hidden, 'cgroup.procs'), String(gone.pid));
    writeFileSync(path.join(hidden, '..', 'cgroup.freeze'), '1');
    writeFileSync(path.join(kept, 'cgroup.procs'), String(stays.pid));
    await sweepAs('one');
    await until('its end', () => !lives(gone));
    expect(existsSync(folder)).toBe(false);
    expect(lives(stays)).toBe(true);
    stays.kill('SIGKILL');
    await until('an empty cgroup', () => removeCgroup(kept));
  },
);

function canMakeCgroups(): boolean {
  const parent = ownCgroup();
  const made = parent && makeCgroup(parent, `vole-test-${process.pid}`);
  return made !== null && removeCgroup(made);
}
