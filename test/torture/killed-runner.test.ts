import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardName, namespaceName, savedCheckoutName } from '../../src/shared/dir-layout.ts';
import { Guards } from '../../src/shared/lock/guard.ts';
import { processesWithEnvPrefix } from '../../src/shared/platform/processes.ts';
import { Rig } from '../support/e2e-rig.ts';
import { manyFiles } from '../support/many-files.ts';
import { CacheRig } from '../support/runner-dir-rig.ts';
import { until } from '../support/until.ts';
import type { VoleProcess } from '../support/vole-process.ts';

const EVICTS = ['--trim-interval', '50ms', '--cache-size', '1'];

let rig: Rig;
let dir: string;
beforeEach(async () => {
  rig = await Rig.start(['--lease-time', '5']);
  dir = at('dir');
  mkdirSync(at('home'));
});
afterEach(() => rig.close());

function at(...names: string[]): string {
  return path.join(rig.root, ...names);
}

/** With a HOME of the test's own, whose settings the runner's git has. */
function runner(...args: string[]): VoleProcess {
  return rig.runner(args, { HOME: at('home') });
}

async function kill(victim: VoleProcess): Promise<void> {
  victim.kill('SIGKILL');
  await victim.ended;
}

/** A program for git to call, set in the HOME of the runner. */
function gitCalls(setting: string, text: string): void {
  const file = at(setting);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  execFileSync('git', ['config', '--file', at('home', '.gitconfig'), setting, file]);
}

/** Shell that goes on only when the file `go` is there, after having made `half`. */
const waits = () => `if [ ! -e ${at('go')} ]; then touch ${at('half')}; exec sleep 1000; fi`;
const half = () => until('the middle of it', () => existsSync(at('half')));

/** A repository whose checkout is worth a pack; gives its folder. */
async function repository(): Promise<string> {
  const files: Record<string, string> = { '.gitattributes': 'slow filter=slow\n', slow: 'x' };
  for (let n = 0; n < 200; n += 1) files[`f${n}`] = randomBytes(1_000).toString('hex');
  const steps = ['test "$(ls f* | wc -l)" = 200'];
  return await rig.repository('o/r', { job: { checkout: true, steps } }, { files });
}

/** Processes of jobs of this directory. */
function ofJobs(): number[] {
  const { id } = JSON.parse(readFileSync(path.join(dir, 'format.json'), 'utf8')) as { id: string };
  return processesWithEnvPrefix('VOLE_JOB_MARKER', `${id}/`).map(({ pid }) => pid);
}

const below = (folder: string): string[] =>
  readdirSync(path.join(dir, folder), { recursive: true, encoding: 'utf8' });

/** What must hold when a runner has cleaned up after another, has done its run, and has ended. */
async function expectClean(second: VoleProcess): Promise<void> {
  second.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
  expect(ofJobs()).toEqual([]);
  expect([below('jobs'), below('trash')]).toEqual([[], []]);
  expect(below('git').filter((file) => /\.lock$|(^|\/)tmp_|\.new$/.test(file))).toEqual([]);
  const guards = new Guards(path.join(dir, 'locks'));
  for (const name of readdirSync(path.join(dir, 'locks'))) {
    if (name.startsWith('chore-')) continue;
    const guard = guards.try(name, 'exclusive');
    expect(guard, name).not.toBeNull();
    guard?.release();
  }
}

describe('kill -9 of a runner', () => {
  it.each([
    {
      what: 'a fetch into the saved checkout',
      setting: 'uploadpack.packObjectsHook',
      program: () => `"$@" | { head -c 100000; ${waits()}; cat; }`,
      isThere: () => below('git').some((file) => /(^|\/)tmp_pack_/.test(file)),
      says: /removed 1 file that a killed git left in git\//,
    },
    {
      what: 'a checkout into the tree',
      setting: 'filter.slow.smudge',
      program: () => `${waits()}; cat`,
      isThere: () => below('jobs').some((file) => file.endsWith('src/.git/index.lock')),
      says: /swept run \d+ attempt 1/,
    },
  ])('in the middle of $what', async ({ setting, program, isThere, says }) => {
    await repository();
    gitCalls(setting, program());
    const [id = 0] = await rig.submit('o/r');
    const first = runner();
    await half();
    await until('what git makes meanwhile', isThere);
    rig.cleanup.defer(() => {
      for (const pid of ofJobs()) process.kill(pid, 'SIGKILL'); // where the promise is broken
    });
    await kill(first);
    expect(ofJobs()).not.toEqual([]); // its git lives on and waits
    writeFileSync(at('go'), '');
    const second = runner();
    await second.says(/ready/);
    expect(second.stderr).toMatch(/swept run \d+ attempt 1, whose runner has died/);
    expect(second.stderr).toMatch(says);
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 1 });
    await expectClean(second);
  });

  it('while it waits for the guard of a fetch', async () => {
    const saved = savedCheckoutName('o/r', 'trusted', await repository());
    const guards = new Guards(path.join(dir, 'locks'));
    const fetching = guards.try(guardName.fetch(saved), 'exclusive');
    const [id = 0] = await rig.submit('o/r');
    const first = runner();
    await until('a job that holds the saved checkout', () => {
      const free = guards.try(guardName.savedCheckout(saved), 'exclusive');
      free?.release();
      return free === null;
    });
    await kill(first);
    fetching?.release();
    const second = runner();
    await second.says(/swept run \d+ attempt 1/);
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 1 });
    await expectClean(second);
  });

  it('while it waits for the guard of a namespace', async () => {
    await repository();
    const name = namespaceName({ repository: 'o/r', trust: 'trusted', image: 'host' });
    const evicting = new Guards(path.join(dir, 'locks')).try(guardName.namespace(name), 'exclusive');
    const [id = 0] = await rig.submit('o/r');
    const first = runner();
    await rig.runIs(id, (run) => run.state === 'running');
    await kill(first);
    expect([below('jobs'), below('cache')]).toEqual([[], []]);
    evicting?.release();
    const second = runner();
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 2 });
    await expectClean(second);
  });

  it('in the middle of a removal: the next start finishes it and says so', async () => {
    const cache = await CacheRig.open(dir, rig.cleanup);
    const count = ['-c', 'find "$0" -mindepth 1 2> /dev/null | wc -l', cache.dir.layout.trash];
    const inTrash = (): number => Number(execFileSync('sh', count));
    // How fast it deletes is the disk's doing: with more files each time, until some are left.
    for (let files = 10_000; ; files *= 2) {
      const held = await cache.hold();
      manyFiles(held.path, files);
      held.release({ remove: false });
      const first = runner(...EVICTS);
      await until('its way into the trash', () => !cache.namespaces.records.names().includes(held.name));
      await until('some of it is gone', () => inTrash() < files);
      await kill(first);
      if (inTrash() > 0) break;
      expect(files).toBeLessThan(200_000);
    }
    const second = runner();
    await second.says(/ready/);
    expect(second.stderr).toContain('finishing 1 interrupted removal');
    await until('an empty trash', () => inTrash() === 0);
    await expectClean(second);
  });

  it('in the middle of measuring: another takes the turn over', async () => {
    const cache = await CacheRig.open(dir, rig.cleanup);
    const held = await cache.hold(); // what is in use is measured at every turn
    manyFiles(held.path, 20_000);
    const turn = path.join(dir, 'locks', 'chore-trim.lock');
    for (let left = false; !left; ) {
      const first = runner(...EVICTS);
      await until('its turn', () => existsSync(turn));
      await kill(first);
      left = existsSync(turn);
    }
    const old = new Date(Date.now() - 60_000); // its turn stands for a while: that time is not waited for
    utimesSync(turn, old, old);
    const second = runner(...EVICTS);
    await second.says(/ready/);
    held.release({ remove: false });
    await until('its eviction', () => cache.cached().length === 0);
    await expectClean(second);
  });
});
