import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweep } from '../../../src/runner/sweep/sweep.ts';
import { removeUnowned } from '../../../src/runner/sweep/unowned-trees.ts';
import { pidNamespace } from '../../../src/shared/platform/processes.ts';
import { CacheActor } from '../../support/cache-actor.ts';
import { childFile } from '../../support/lock-children.ts';
import { CacheRig } from '../../support/runner-dir-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

/** Where every process of the kernel can be seen, as on a host, and pid namespaces can be made. */
const isHost = process.getuid?.() === 0 && pidNamespace() === 'pid:[4026531836]';

let cleanup: Cleanup;
let root: string;
let rig: CacheRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  root = path.join(cleanup.tempDir(), 'dir');
  rig = await CacheRig.open(root, cleanup);
});
afterEach(() => cleanup.run());

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

/** A runner with a job in a pid namespace of its own, as in a container: as its first process or below one. */
async function contained(
  as: 'first' | 'below',
): Promise<{ container: ChildProcess; killRunner: () => Promise<void> }> {
  const runner = [process.execPath, childFile('cache-owner'), root];
  const line = as === 'first' ? runner : ['sh', '-c', '"$@" & wait; sleep 1000', 'sh', ...runner];
  const container = spawn('unshare', ['-pf', '--mount-proc', '--kill-child', ...line], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.defer(() => void container.kill('SIGKILL'));
  await once(container.stdout as NodeJS.ReadableStream, 'data'); // its job runs
  const [first = 0] = childrenOf(container.pid ?? 0);
  const [below = 0] = as === 'below' ? childrenOf(first) : [first];
  const killRunner = async (): Promise<void> => {
    process.kill(below, 'SIGKILL');
    await until('the end of all its threads', () => !existsSync(`/proc/${below}`));
  };
  return { container, killRunner };
}

/** What a sweep in yet another pid namespace does and says, as in a container beside it. */
async function sweptBeside(): Promise<{ dead: number; lines: string[] }> {
  const actor = new CacheActor(cleanup, ['sweep', root], { pidNamespace: true });
  await actor.ended;
  return JSON.parse(actor.said) as { dead: number; lines: string[] };
}

const trees = (): string[] => readdirSync(rig.dir.layout.jobs);
const evicted = async (): Promise<number | undefined> => (await rig.trimmer().trim())?.cache.removed.length;

describe.runIf(isHost)('a runner that died in a pid namespace of its own', () => {
  it('as its first process is swept from the host, and its namespace is free', async () => {
    const { killRunner } = await contained('first');
    expect((await sweep(rig.dir, rig.trash, 'one')).lines).toEqual([]);
    expect(await evicted()).toBe(0);
    await killRunner();
    const { dead, lines } = await sweep(rig.dir, rig.trash, 'one');
    expect(lines).toEqual(['swept run 7 attempt 1, whose runner has died']);
    for (const run of dead) run.dispose();
    expect(trees()).toEqual([]);
    expect(await evicted()).toBe(1);
  });

  it('as its first process is swept from a container beside it too', async () => {
    const { killRunner } = await contained('first');
    await killRunner();
    expect(await sweptBeside()).toEqual({ dead: 1, lines: ['swept run 7 attempt 1, whose runner has died'] });
  });

  it('below another process is kept while that may have its job, and removed by hand when it is gone', async () => {
    const { container, killRunner } = await contained('below');
    await killRunner();
    const beside = await sweptBeside();
    expect(beside.dead).toBe(0);
    expect(beside.lines.join()).toContain('`vole cache verify` removes the tree, as root on the host itself');
    expect((await sweep(rig.dir, rig.trash, 'one')).dead).toEqual([]);
    expect(await evicted()).toBe(0);
    expect(rig.warnings.filter((line) => line.includes('is kept, and what its job used'))).toHaveLength(1);
    expect((await removeUnowned(rig.dir, rig.trash)).removed).toEqual([]);

    container.kill('SIGKILL');
    const [tree] = trees();
    const { removed } = await until('the end of the container', async () => {
      const done = await removeUnowned(rig.dir, rig.trash);
      return done.removed.length > 0 && done;
    });
    expect(removed).toEqual([`jobs/${tree}, whose runner has died with its pid namespace`]);
    expect(await evicted()).toBe(1);
  });
});
