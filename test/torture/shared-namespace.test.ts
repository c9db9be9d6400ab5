import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { CacheRig } from '../support/runner-dir-rig.ts';
import { until } from '../support/until.ts';

/** A runner that evicts all that it may, all the time. */
const TRIMMING = ['--trim-interval', '50ms', '--cache-size', '1', '--git-size', '1'];
const FILES = 400;

let rig: Rig;
let dir: string;
beforeEach(async () => {
  rig = await Rig.start();
  dir = path.join(rig.root, 'dir');
});
afterEach(() => rig.close());

/** What is in the cache, records included. */
const cached = (): string[] => readdirSync(path.join(dir, 'cache'));

/** Until nothing is cached any more: nobody uses anything, and the trimmer has come by. */
const evicted = () => until('an empty cache', () => cached().length === 0);

/** Writes without pause and looks after each file whether all before it are still there. */
const WRITES = `
  inode=$(stat -c %i "$VOLE_CACHE"); n=0
  until [ -e "$STOP" ] && [ "$n" -ge 50 ]; do
    n=$((n + 1)); echo "$VOLE_REPOSITORY $n" > "$VOLE_CACHE/f$n"
    [ "$(ls "$VOLE_CACHE" | wc -l)" = "$n" ] || { echo "lost some of $n"; exit 9; }
  done
  [ "$(stat -c %i "$VOLE_CACHE")" = "$inode" ]
  [ "$(cat "$VOLE_CACHE"/* | sort -u | grep -c "^$VOLE_REPOSITORY ")" = "$n" ]`;

describe('a runner that trims every 50 ms to one byte', () => {
  it('keeps the distinct namespaces of two slots whole while it evicts others beside them', async () => {
    const stop = path.join(rig.root, 'stop');
    for (const name of ['team/one', 'team/two']) {
      await rig.repository(name, { job: { env: { STOP: stop }, steps: [WRITES] } });
    }
    const runner = rig.runner(['--jobs', '2', ...TRIMMING]);
    await runner.says(/ready/);
    const ids = [...(await rig.submit('team/one')), ...(await rig.submit('team/two'))];
    for (const id of ids) await rig.runIs(id, (run) => run.state === 'running');
    const beside = await CacheRig.open(dir, rig.cleanup);
    await until('two namespaces that are in use', () => beside.namespaces.records.names().length === 2);
    for (let turn = 0; turn < 20; turn += 1) {
      const free = await beside.fill('team/free');
      await until('its eviction', () => !beside.namespaces.records.names().includes(free));
    }
    writeFileSync(stop, '');
    for (const id of ids) {
      expect((await rig.ended(id)).state, await rig.rawLog(id)).toBe('passed');
    }
    await evicted();
  });

  it('loses nothing of a tree that four jobs extract into one namespace at the same time', async () => {
    const { archive, sums } = treeOf(FILES);
    const all = (what: string): string =>
      `touch ${what}-$N; until [ "$(ls -d ${what}-* | wc -l)" = 4 ]; do sleep 0.02; done`;
    const extract = `
      cd "$VOLE_CACHE"
      ${all('here')}
      mkdir "part-$N"; tar -xf "$ARCHIVE" -C "part-$N"
      if mv -T "part-$N/tree" tree 2> /dev/null; then echo this one; else rm -rf "part-$N"; fi
      (cd tree; sha256sum --quiet -c "$SUMS")
      ${all('checked')}
      (cd "$VOLE_CACHE/tree"; sha256sum --quiet -c "$SUMS")
      ${all('done')}`;
    await rig.repository('team/app', {
      job: {
        strategy: { matrix: { n: [1, 2, 3, 4] } },
        env: { N: '${{ matrix.n }}', ARCHIVE: archive, SUMS: sums },
        steps: [extract],
      },
    });
    const runner = rig.runner(['--jobs', '4', ...TRIMMING]);
    await runner.says(/ready/);
    for (let round = 0; round < 3; round += 1) {
      const ids = await rig.submit('team/app');
      expect(ids).toHaveLength(4);
      let winners = 0;
      for (const id of ids) {
        expect((await rig.ended(id)).state, await rig.rawLog(id)).toBe('passed');
        if ((await rig.output(id)).includes('this one')) winners += 1;
      }
      expect(winners).toBe(1);
      await evicted();
    }
  });
});

/** An archive of a folder `tree` with files of random bytes, and their checksums as `sha256sum` checks them. */
function treeOf(files: number): { archive: string; sums: string } {
  const tree = path.join(rig.root, 'tree');
  const lines: string[] = [];
  for (let at = 0; at < files; at += 1) {
    const name = `d${at % 20}/f${at}`;
    const bytes = randomBytes(1_000 + at);
    mkdirSync(path.dirname(path.join(tree, name)), { recursive: true });
    writeFileSync(path.join(tree, name), bytes);
    lines.push(`${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`);
  }
  const sums = path.join(rig.root, 'sums');
  writeFileSync(sums, lines.join(''));
  const archive = path.join(rig.root, 'tree.tar');
  execFileSync('tar', ['-cf', archive, '-C', rig.root, 'tree']);
  return { archive, sums };
}
