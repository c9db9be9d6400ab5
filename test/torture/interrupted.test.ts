import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweep } from '../../src/runner/sweep/sweep.ts';
import { CacheActor } from '../support/cache-actor.ts';
import { longestTurnMs } from '../support/main-thread-load.ts';
import { manyFiles } from '../support/many-files.ts';
import { CacheRig } from '../support/runner-dir-rig.ts';
import { Cleanup } from '../support/temp.ts';

/** The whole where there is time; `bench/locks.ts` measures it with 100,000. */
const FILES = Number(process.env['VOLE_TORTURE_SECONDS'] ?? 0) >= 30 ? 100_000 : 10_000;

let cleanup: Cleanup;
let root: string;
let rig: CacheRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  root = path.join(cleanup.tempDir(), 'dir');
  rig = await CacheRig.open(root, cleanup);
});
afterEach(() => cleanup.run());

describe.each([{ pidNamespace: false }, { pidNamespace: true }])('an evictor (%o)', (where) => {
  it('that is stopped between grant and rename is waited for, and what comes after it stays', async () => {
    const name = await rig.fill('team/app');
    const evictor = new CacheActor(cleanup, ['evict-stopped', root, name], where);
    await evictor.says(/granted/);
    evictor.signal('SIGSTOP');
    writeFileSync(path.join(root, 'go'), '');
    let granted = false;
    const holding = rig.hold('team/app').then((held) => {
      granted = true;
      writeFileSync(path.join(held.path, 'mine'), 'x');
      return held;
    });
    await delay(300);
    expect(granted).toBe(false);
    evictor.signal('SIGCONT');
    const held = await holding;
    await evictor.ended;
    expect(evictor.said).toContain('removed');
    expect(readdirSync(held.path)).toEqual(['mine']);
    held.release({ remove: false });
  });

  it('that is killed there leaves the namespace whole and free', async () => {
    const name = await rig.fill('team/app');
    const evictor = new CacheActor(cleanup, ['evict-stopped', root, name], where);
    await evictor.says(/granted/);
    evictor.signal('SIGSTOP');
    await evictor.kill('SIGKILL');
    const held = await rig.hold('team/app');
    expect(readdirSync(held.path)).toEqual(['file']);
    held.release({ remove: true });
    expect(rig.cached()).toEqual([]);
  });
});

describe('two processes with --no-cache', () => {
  it.each([
    { repositories: ['team/app', 'team/app'], where: 'one namespace' },
    { repositories: ['team/app', 'team/web'], where: 'two namespaces' },
  ])('in $where take nothing from each other and leave nothing', async ({ repositories }) => {
    for (let round = 0; round < 3; round += 1) {
      const jobs = repositories.map((repository) => new CacheActor(cleanup, ['hold', root, repository]));
      for (const job of jobs) await job.says(/\n/);
      const paths = jobs.map((job) => job.said.trim());
      for (const [at, folder] of paths.entries()) writeFileSync(path.join(folder, `mine-${at}`), 'x');
      jobs[0]?.tell('remove');
      await jobs[0]?.ended;
      expect(existsSync(path.join(paths[1] ?? '', 'mine-1'))).toBe(true);
      jobs[1]?.tell('remove');
      await jobs[1]?.ended;
      expect(rig.cached()).toEqual([]);
    }
  });

  it('that end at the same moment leave nothing', async () => {
    for (let round = 0; round < 5; round += 1) {
      const jobs = [0, 1, 2].map(() => new CacheActor(cleanup, ['hold', root, 'team/app']));
      for (const job of jobs) await job.says(/\n/);
      for (const job of jobs) job.tell('remove');
      for (const job of jobs) await job.ended;
      expect(rig.cached()).toEqual([]);
    }
  });
});

describe('kill -9', () => {
  it('while trees are made and removed leaves only what nobody owns, and the next start cleans it', async () => {
    for (let round = 0; round < 5; round += 1) {
      const actor = new CacheActor(cleanup, ['trees', root]);
      await actor.says(/begun/);
      await delay(round * 17);
      await actor.kill('SIGKILL');
      const { dead } = await sweep(rig.dir, rig.trash, 'of-a-test');
      for (const run of dead) run.dispose();
      await rig.trash.settled();
      const left = readdirSync(rig.dir.layout.jobs).filter((name) => !name.startsWith('.new-'));
      expect([left, readdirSync(rig.dir.layout.trash)]).toEqual([[], []]);
    }
  });
});

describe('much in a namespace', () => {
  it.each([{ user: 'root or whoever runs this' }, { user: 'a plain user' }])(
    'as the Go module cache has it, 0555 and 0444, is trimmed by $user',
    async ({ user }) => {
      const plain = user === 'a plain user' && process.getuid?.() === 0;
      const dir = path.join(cleanup.tempDir(), 'own');
      mkdirSync(dir);
      if (plain) {
        chmodSync(path.dirname(dir), 0o777);
        execFileSync('chown', ['65534:65534', dir]);
      }
      const prefix = plain ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
      const actor = new CacheActor(cleanup, ['go', dir], { prefix });
      await actor.ended;
      expect(JSON.parse(actor.said)).toEqual({ removed: 1, warnings: [] });
      expect([readdirSync(path.join(dir, 'cache')), readdirSync(path.join(dir, 'trash'))]).toEqual([[], []]);
    },
  );

  it(`with ${FILES} files, beside 400 small ones, does not keep the event loop`, async () => {
    const held = await rig.hold();
    manyFiles(held.path, FILES);
    held.release({ remove: false });
    for (let at = 0; at < 400; at += 1) await rig.fill(`team/small${at}`, 10);
    const trimmer = rig.trimmer();
    const kept = await longestTurnMs(async () => {
      expect((await trimmer.trim())?.cache.removed).toHaveLength(401);
      await rig.trash.settled();
    });
    expect(readdirSync(rig.dir.layout.trash)).toEqual([]);
    expect(kept).toBeLessThan(50);
  });
});
