import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardName } from '../../../src/shared/dir-layout.ts';
import { CacheActor } from '../../support/cache-actor.ts';
import { otherPidNamespace } from '../../support/other-pid-namespace.ts';
import { CacheRig, DEAD } from '../../support/runner-dir-rig.ts';
import { Cleanup } from '../../support/temp.ts';

const NAME = 'team-app-0123456789abcdef';
const NEVER = new AbortController().signal;

let cleanup: Cleanup;
let rig: CacheRig;
let bare: string;
beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await CacheRig.open(cleanup.tempDir(), cleanup);
  bare = rig.dir.layout.savedCheckout(NAME);
  execFileSync('git', ['init', '-q', '--bare', bare]);
});
afterEach(() => cleanup.run());

const git = (...args: string[]): string => execFileSync('git', args, { cwd: bare, encoding: 'utf8' }).trim();

/** A commit in a pack of its own, pinned as a fetch pins it or by nothing. */
function commitInPack(text: string, pinned: boolean): string {
  const lines = [
    'blob',
    'mark :1',
    `data ${text.length}`,
    text,
    'commit refs/tmp/x',
    'mark :2',
    'committer x <x@example> 0 +0000',
    'data 0',
    'M 100644 :1 file',
    '',
    'get-mark :2',
    'done',
    '',
  ];
  const pack = ['-c', 'fastimport.unpackLimit=1', 'fast-import', '--quiet', '--done'];
  const commit = execFileSync('git', pack, { cwd: bare, input: lines.join('\n'), encoding: 'utf8' }).trim();
  const made = path.join(bare, 'refs/tmp/x');
  mkdirSync(path.join(bare, 'refs/vole'), { recursive: true });
  if (pinned) renameSync(made, path.join(bare, 'refs/vole', commit));
  else rmSync(made);
  return commit;
}

const packs = (): number =>
  readdirSync(path.join(bare, 'objects/pack')).filter((file) => file.endsWith('.pack')).length;

describe('a saved checkout', () => {
  it('whose objects a tree borrows, or that is fetched into, is neither removed nor repacked', async () => {
    for (let at = 0; at < 51; at += 1) commitInPack(`c${at}`, true);
    const borrowed = rig.dir.guards.try(guardName.savedCheckout(NAME), 'shared');
    expect(rig.saved.removeIfFree(NAME)).toBe('busy');
    expect(await rig.saved.maintain(NAME, NEVER)).toBe('busy');
    expect((await rig.trimmer().trim())?.git.busy).toEqual([NAME]);
    expect(rig.saved.tidy()).toEqual({ removed: [], unpinned: 0, busy: [NAME] });
    // A fetch beside a reader is no writer that a reader must wait for.
    const fetch = rig.dir.guards.try(guardName.fetch(NAME), 'exclusive');
    expect(fetch).not.toBeNull();
    expect(rig.dir.guards.try(guardName.fetch(NAME), 'exclusive')).toBeNull();
    fetch?.release();
    borrowed?.release();
    expect(rig.saved.removeIfFree(NAME)).toBe('removed');
    expect(existsSync(bare)).toBe(false);
  });

  it('is busy while processes of a dead runner may read it', async () => {
    const pidNamespace = await otherPidNamespace(cleanup);
    if (pidNamespace === null) return; // not as this user
    rig.leaveTree(rig.identity({ ...DEAD, git: NAME, pidNamespace }));
    expect(rig.saved.removeIfFree(NAME)).toBe('busy');
  });

  it('of many packs is packed into one, and no commit is lost, pinned or not', async () => {
    const commits = Array.from({ length: 52 }, (_, at) => commitInPack(`c${at}`, at % 2 === 0));
    expect(packs()).toBe(52);
    expect(await rig.saved.maintain(NAME, NEVER)).toBe('maintained');
    expect(packs()).toBeLessThanOrEqual(2);
    for (const commit of commits) expect(git('cat-file', '-t', commit)).toBe('commit');
    expect(await rig.saved.maintain(NAME, NEVER)).toBe('not-needed');
  });

  it('of many single objects is packed too, and no object is lost', async () => {
    commitInPack('base', true);
    const texts: string[] = [];
    for (let n = 0; texts.length < 27; n += 1) {
      const header = `blob ${String(n).length}\0`;
      if (createHash('sha1').update(`${header}${n}`).digest('hex').startsWith('17')) texts.push(`${n}`);
    }
    const files = texts.map((text) => path.join(bare, `text-${text}`));
    for (const [at, file] of files.entries()) writeFileSync(file, texts[at] ?? '');
    const written = ['hash-object', '-w', '--stdin-paths'];
    const blobs = execFileSync('git', written, { cwd: bare, input: files.join('\n'), encoding: 'utf8' });
    expect(readdirSync(path.join(bare, 'objects/17'))).toHaveLength(27);
    expect(await rig.saved.maintain(NAME, NEVER)).toBe('maintained');
    expect(existsSync(path.join(bare, 'objects/17'))).toBe(false);
    const checked = execFileSync('git', ['cat-file', '--batch-check'], {
      cwd: bare,
      input: blobs,
      encoding: 'utf8',
    });
    expect(checked.match(/ blob /g)).toHaveLength(27);
    expect(await rig.saved.maintain(NAME, NEVER)).toBe('not-needed');
  });

  it('is rid at a start of what a killed git left, and of pins that nobody wanted for long', () => {
    const kept = commitInPack('kept', true);
    const old = commitInPack('old', true);
    utimesSync(path.join(bare, 'refs/vole', old), 1, 1);
    const files = ['shallow.lock', 'objects/pack/tmp_pack_x', 'refs/vole/a.lock'];
    for (const file of files) writeFileSync(path.join(bare, file), '');
    mkdirSync(path.join(bare, 'objects/tmp_objdir-incoming-x/aa'), { recursive: true });
    const half = 'team-web-0123456789abcdef.git.new';
    mkdirSync(path.join(rig.dir.layout.git, half));
    const making = rig.dir.guards.try(guardName.fetch('team-web-0123456789abcdef'), 'exclusive');
    const tidied = rig.saved.tidy();
    expect(tidied).toMatchObject({ unpinned: 1, busy: [] });
    expect(tidied.removed.toSorted()).toEqual(
      [...files, 'objects/tmp_objdir-incoming-x'].map((file) => `${NAME}.git/${file}`).toSorted(),
    );
    making?.release();
    expect(rig.saved.tidy()).toEqual({ removed: [half], unpinned: 0, busy: [] });
    expect(readdirSync(path.join(bare, 'refs/vole'))).toEqual([kept]);
    expect(existsSync(path.join(bare, 'shallow.lock'))).toBe(false);
    expect(readdirSync(path.join(bare, 'objects/pack')).filter((file) => file.startsWith('tmp_'))).toEqual(
      [],
    );
  });
});

describe('a full disk', () => {
  it('is trimmed all the same: neither turn nor record nor removal needs room', async () => {
    const dir = path.join(cleanup.tempDir(), 'full');
    mkdirSync(dir);
    const mount = 'mount -t tmpfs -o size=4m,nr_inodes=200 vole "$0" && exec "$@"';
    const actor = new CacheActor(cleanup, ['full', dir], {
      prefix: ['unshare', '-m', 'sh', '-c', mount, dir],
    });
    await actor.ended;
    if (actor.child.exitCode === 32 || actor.child.exitCode === 1) return; // no mounts for this user
    expect(JSON.parse(actor.said)).toEqual({ removed: 1, left: [], warnings: [] });
  });
});
