import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardName } from '../../../src/shared/dir-layout.ts';
import { otherPidNamespace } from '../../support/other-pid-namespace.ts';
import { CacheRig, DEAD } from '../../support/runner-dir-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let root: string;
let one: CacheRig;
let other: CacheRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  root = cleanup.tempDir();
  one = await CacheRig.open(root, cleanup);
  other = await CacheRig.open(root, cleanup);
});
afterEach(() => cleanup.run());

it('the record of a namespace that another process has measured is written at the next use', () => {
  const key = { repository: 'team/app', trust: 'trusted', image: 'host' } as const;
  one.namespaces.records.used('it', key);
  one.namespaces.records.used('it', key);
  const first = one.namespaces.records.read('it')?.lastUsed ?? 0;
  other.namespaces.records.measured('it', 5, first + 1);
  while (Date.now() === first);
  one.namespaces.records.used('it', key);
  const record = one.namespaces.records.read('it');
  expect(record).toMatchObject({ sizeBytes: 5, measuredAt: first + 1 });
  expect(record?.lastUsed).toBeGreaterThan(first);
});

describe('trimming', () => {
  it('removes the least recently used first, and stops within the limit', async () => {
    const names = [
      await one.fill('a/a', 100_000),
      await one.fill('b/b', 100_000),
      await one.fill('c/c', 100_000),
    ];
    for (const [at, name] of names.entries()) {
      const file = path.join(one.dir.layout.cache, `${name}.json`);
      const record = one.namespaces.records.read(name);
      writeFileSync(file, JSON.stringify({ ...record, lastUsed: 1_000 + at }));
    }
    const trimmed = await one.trimmer({ cacheSize: { bytes: 150_000 } }).trim();
    expect(trimmed?.cache.removed).toEqual([names[0], names[1]]);
    expect(one.namespaces.records.names()).toEqual([names[2]]);
  });

  it('passes over what is held, says by how much it is over, and takes it when it is free', async () => {
    const held = await other.hold();
    writeFileSync(path.join(held.path, 'file'), Buffer.alloc(100_000, 1));
    const trimmed = await one.trimmer().trim();
    expect(trimmed?.cache).toMatchObject({ removed: [], busy: [held.name] });
    expect(trimmed?.cache.overshootBytes).toBeGreaterThan(90_000);
    expect(existsSync(path.join(held.path, 'file'))).toBe(true);
    const again = one.trimmer();
    one.warnings.length = 0;
    for (let turn = 0; turn < 3; turn += 1) await again.trim();
    expect(one.warnings).toEqual(['over its limit until what is in use finishes']); // not at each turn
    held.release({ remove: false });
    expect((await one.trimmer().trim())?.cache.removed).toEqual([held.name]);
    expect(one.cached()).toEqual([]);
    await one.trash.settled();
    expect(readdirSync(one.dir.layout.trash)).toEqual([]);
  });

  it('measures again what grows while it is in use, also after its holder was killed', async () => {
    const held = await other.hold();
    const wide = { cacheSize: { bytes: 1e9 } };
    await one.trimmer(wide).trim();
    writeFileSync(path.join(held.path, 'file'), Buffer.alloc(500_000, 1));
    expect((await one.trimmer(wide).trim())?.cache.bytesBefore).toBeGreaterThan(500_000);
    held.release({ remove: false });
  });

  it('evicts more until enough is free, and no more than that', async () => {
    await one.fill('a/a', 1_000_000);
    const all = { cacheSize: { bytes: 1e12 }, gitSize: { bytes: 1e12 } };
    expect((await one.trimmer({ ...all, minFree: { bytes: 0 } }).trim())?.cache.removed).toHaveLength(0);
    expect((await one.trimmer({ ...all, minFree: { share: 1 } }).trim())?.cache.removed).toHaveLength(1);
  });

  it('is not kept from the rest by one that cannot be moved', async () => {
    const stuck = await one.fill('a/a');
    const free = await one.fill('b/b');
    const file = one.dir.layout.namespace(stuck);
    if (!immutable(file)) return; // not as this user or on this file system
    for (let turn = 0; turn < 2; turn += 1) await one.trimmer().trim();
    expect(one.namespaces.records.names()).toEqual([stuck]);
    expect(one.namespaces.records.names()).not.toContain(free);
    expect(
      one.warnings.filter((line) => line.includes(stuck) && line.includes('cannot delete')),
    ).toHaveLength(1);
  });

  it('reports an immutable file once, and deletes it when it can be', async () => {
    const name = await one.fill('a/a');
    const file = path.join(one.dir.layout.namespace(name), 'file');
    if (!immutable(file)) return;
    await one.trimmer().trim();
    await one.trash.settled();
    await one.trimmer().trim();
    await one.trash.settled();
    expect(one.warnings).toHaveLength(1);
    execFileSync('chattr', ['-R', '-i', one.dir.layout.trash]);
    await one.trimmer().trim();
    await one.trash.settled();
    expect(readdirSync(one.dir.layout.trash)).toEqual([]);
  });

  it('clears what crashes left: half-written records, records alone, interrupted removals', async () => {
    const { cache, trash } = one.dir.layout;
    writeFileSync(path.join(cache, 'gone-0123456789abcdef.json'), '{}');
    writeFileSync(path.join(cache, '.unwanted-gone-0123456789abcdef'), '');
    const torn = path.join(cache, '.x-0123456789abcdef.00ff00ff');
    writeFileSync(torn, '{"repo');
    execFileSync('touch', ['-d', '2 hours ago', torn]);
    mkdirSync(path.join(trash, 'half/way'), { recursive: true });
    await one.trimmer().trim();
    await one.trash.settled();
    expect([one.cached(), readdirSync(trash)]).toEqual([[], []]);
  });

  it('never takes a namespace whose record is missing from who holds it', async () => {
    const held = await other.hold();
    writeFileSync(path.join(held.path, 'file'), 'x'); // an empty directory takes no blocks on a tmpfs
    rmSync(path.join(one.dir.layout.cache, `${held.name}.json`));
    expect((await one.trimmer().trim())?.cache.busy).toEqual([held.name]);
    held.release({ remove: false });
    expect((await one.trimmer().trim())?.cache.removed).toEqual([held.name]);
  });

  it('keeps the inode of the lock file', async () => {
    const name = await one.fill('a/a');
    const lock = path.join(one.dir.layout.locks, guardName.namespace(name));
    const { ino } = statSync(lock);
    for (let turn = 0; turn < 3; turn += 1) {
      await one.trimmer().trim();
      await one.fill('a/a');
    }
    expect(statSync(lock).ino).toBe(ino);
  });

  it('outlives its file thread', async () => {
    await one.fill('a/a');
    await one.files.close();
    expect(await one.trimmer().trim()).toBeNull();
    expect(one.warnings).toHaveLength(1);
    expect((await other.trimmer().trim())?.cache.removed).toHaveLength(1);
  });
});

describe('what a job left in its namespace', () => {
  it('is removed whatever its modes, links and loops, and nothing outside is touched', async () => {
    const held = await one.hold();
    const victim = cleanup.tempDir();
    writeFileSync(path.join(victim, 'keep'), 'x');
    symlinkSync('/etc', path.join(held.path, 'etc'));
    symlinkSync('loop', path.join(held.path, 'loop'));
    symlinkSync(victim, path.join(held.path, 'victim'));
    const mod = path.join(held.path, 'mod');
    mkdirSync(path.join(mod, 'pkg@v1'), { recursive: true });
    writeFileSync(path.join(mod, 'pkg@v1/go.mod'), 'x', { mode: 0o444 });
    for (const folder of [path.join(mod, 'pkg@v1'), mod, held.path]) chmodSync(folder, 0o555);
    held.release({ remove: true });
    await one.trash.settled();
    expect([one.cached(), readdirSync(one.dir.layout.trash), one.warnings]).toEqual([[], [], []]);
    expect(readdirSync(victim)).toEqual(['keep']);
    expect(existsSync('/etc/passwd')).toBe(true);
  });
});

describe('--no-cache', () => {
  it('removes the namespace with the last of two jobs that want it gone', async () => {
    const [first, second] = [await one.hold(), await other.hold()];
    writeFileSync(path.join(second.path, 'mine'), 'x');
    first.release({ remove: true });
    expect(existsSync(path.join(second.path, 'mine'))).toBe(true);
    second.release({ remove: true });
    expect(one.cached()).toEqual([]);
  });

  it('is carried out by a job without it that is the last', async () => {
    const [first, second] = [await one.hold(), await other.hold()];
    first.release({ remove: true });
    other.namespaces.records.used(second.name, { repository: 'team/app', trust: 'trusted', image: 'host' });
    second.release({ remove: false });
    expect(one.cached()).toEqual([]);
  });

  it('is carried out by the next trim where the last was killed', async () => {
    const [first, second] = [await one.hold(), await other.hold()];
    first.release({ remove: true });
    // What SIGKILL does: the guard is gone and nothing else was done. The test's own stands in for it.
    const wide = { cacheSize: { bytes: 1e12 } };
    expect((await one.trimmer(wide).trim())?.cache.removed).toEqual([]);
    expect(one.cached()).not.toEqual([]);
    second.release({ remove: false });
    expect(one.cached()).toEqual([]);
  });

  it('touches no other namespace', async () => {
    const [first, second] = [await one.hold('a/a'), await other.hold('b/b')];
    first.release({ remove: true });
    expect(one.namespaces.records.names()).toEqual([second.name]);
    second.release({ remove: false });
    expect(one.namespaces.records.names()).toEqual([second.name]);
  });

  it('at a start clears only what is free', async () => {
    const held = await other.hold('a/a');
    const free = await one.fill('b/b');
    expect(await one.trimmer().clearFree()).toEqual({ removed: [free], busy: [held.name] });
    held.release({ remove: false });
  });
});

describe('a namespace that no guard holds', () => {
  it.each([
    { of: 'a dead runner without processes', change: DEAD, result: 'removed' },
    { of: 'an earlier boot', change: { bootId: 'another', pidNamespace: 'pid:[1]' }, result: 'removed' },
    { of: 'a live runner that has let it go', change: {}, result: 'removed' },
  ])('and whose record is of $of: $result', async ({ change, result }) => {
    const name = await one.fill('a/a');
    one.leaveTree(one.identity({ namespace: name, ...change }));
    expect(other.namespaces.removeIfFree(name)).toBe(result);
  });

  it('is busy while a container of a dead runner may use it', async () => {
    const name = await one.fill('team/app');
    const container = { what: 'container', engine: 'docker', id: 'x' };
    const tree = one.leaveTree(one.identity({ namespace: name, ...DEAD }), [container]);
    expect(one.namespaces.removeIfFree(name)).toBe('busy');
    appendFileSync(
      path.join(tree, 'owner.jsonl'),
      `${JSON.stringify({ ...container, what: 'container-gone' })}\n`,
    );
    expect(one.namespaces.removeIfFree(name)).toBe('removed');
  });

  it('and whose record is of a runner in another pid namespace: busy', async () => {
    const pidNamespace = await otherPidNamespace(cleanup);
    if (pidNamespace === null) return; // not as this user
    const name = await one.fill('a/a');
    one.leaveTree(one.identity({ namespace: name, pidNamespace, ...DEAD }));
    expect(other.namespaces.removeIfFree(name)).toBe('busy');
  });

  it('is busy while any owner record cannot be read, since it may be its', async () => {
    const name = await one.fill('a/a');
    const tree = one.leaveTree(one.identity());
    writeFileSync(path.join(tree, 'owner.jsonl'), '{"version":2}\n');
    expect(other.namespaces.removeIfFree(name)).toBe('busy');
  });
});

/** Makes a file immutable; false where that cannot be done here. */
function immutable(file: string): boolean {
  try {
    execFileSync('chattr', ['+i', file], { stdio: 'ignore' });
    cleanup.defer(() => void spawnSync('chattr', ['-R', '-i', root]));
    return true;
  } catch {
    return false;
  }
}
