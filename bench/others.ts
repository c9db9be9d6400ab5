// vole beside another CI system of this host, in turns within one run: jobs a second for jobs that do nothing, a
// durable result for each. The other is Buildbot (`apt-get install buildbot buildbot-worker` on Debian), a
// master with a SQLite database and one worker process, as vole has a server and a runner. And what a job
// pays before and after its work for a cache that is an archive, as many systems have it: the least is a `tar`
// of it unpacked and packed, on this disk, without any network. `node bench/run.mjs others [--json]` runs it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../src/shared/platform/commands.ts';
import { buildbotRate, buildbotVersion } from './others/buildbot.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const JOBS = 2;
const TURNS = 3;
const WARM_UP = 20;
const COUNT = 200;
const CACHE_FILES = 20_000;
const CACHE_FILE_BYTES = 16 * 1024;

async function voleRate(): Promise<number> {
  const args = ['bench', 'slots', '--jobs', String(JOBS), '--count', String(COUNT), '--json'];
  const result = await runCommand(process.execPath, [path.join(ROOT, 'bin/vole.cjs'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', TMPDIR: os.tmpdir() },
    maxOutputBytes: 1024 * 1024,
  });
  if (!result.ok) throw new Error(`vole bench slots: ${result.why}`);
  const parsed = JSON.parse(result.stdout) as { rows: readonly { volePerSecond: number }[] };
  return parsed.rows[0]?.volePerSecond ?? Number.NaN;
}

/** Text-like files, as those of packages are: they pack to about a third. */
function fillCache(folder: string): void {
  const words = Array.from({ length: 400 }, (_, at) => `${(at * 7919).toString(36)}_name`);
  for (let at = 0; at < CACHE_FILES; at += 1) {
    const below = path.join(folder, String(at % 200));
    if (at < 200) mkdirSync(below, { recursive: true });
    let text = `// ${at}\n`;
    for (let n = at; text.length < CACHE_FILE_BYTES; n = (n * 31 + 17) % 1_000_003)
      text += `${words[n % 400]} `;
    writeFileSync(path.join(below, `${at}.js`), text);
  }
}

async function secondsOf(file: string, args: readonly string[]): Promise<number> {
  const before = performance.now();
  const result = await runCommand(file, args);
  if (!result.ok) throw new Error(`${file}: ${result.why}`);
  return (performance.now() - before) / 1_000;
}

/** Seconds to pack a cache and to unpack it again, with the fastest setting of gzip. */
async function archiveSeconds(dir: string): Promise<{ packing: number; unpacking: number }> {
  const [cache, archive, copy] = ['cache', 'cache.tar.gz', 'copy'].map((name) => path.join(dir, name));
  if (!cache || !archive || !copy) throw new Error('unreachable');
  fillCache(cache);
  mkdirSync(copy);
  const packing = await secondsOf('tar', ['-C', cache, '-I', 'gzip -1', '-cf', archive, '.']);
  const unpacking = await secondsOf('tar', ['-C', copy, '-xzf', archive]);
  return { packing, unpacking };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

interface Result {
  readonly jobs: number;
  readonly count: number;
  readonly turns: number;
  readonly volePerSecond: number;
  /** Null where it is not on this host. */
  readonly buildbot: { readonly version: string; readonly perSecond: number; readonly ratio: number } | null;
  readonly archive: {
    readonly files: number;
    readonly mib: number;
    readonly packingSeconds: number;
    readonly unpackingSeconds: number;
  };
}

function table(result: Result): string {
  const { volePerSecond, buildbot, archive } = result;
  const mine = `${volePerSecond.toFixed(1)} a second`;
  return [
    `${result.count} jobs that do nothing, ${result.jobs} at once, medians of ${result.turns} turns`,
    `  vole            ${mine}`,
    buildbot === null
      ? '  Buildbot        not on this host: apt-get install buildbot buildbot-worker'
      : `  Buildbot ${buildbot.version.padEnd(6)} ${buildbot.perSecond.toFixed(1)} a second: vole is ${buildbot.ratio.toFixed(1)} times as fast`,
    `a cache of ${archive.files} files, ${archive.mib} MiB`,
    `  as an archive   ${archive.unpackingSeconds.toFixed(1)} s before the job and ${archive.packingSeconds.toFixed(1)} s after it`,
    `  of vole         it is there: a whole job that does nothing takes ${((1_000 * result.jobs) / volePerSecond).toFixed(0)} ms`,
    '',
  ].join('\n');
}

const dir = mkdtempSync(path.join(os.tmpdir(), 'vole-bench-others-'));
try {
  const version = await buildbotVersion();
  const [own, other]: [number[], number[]] = [[], []];
  const config = path.join(ROOT, 'bench/others/buildbot.cfg');
  for (let turn = 0; turn < TURNS; turn += 1) {
    own.push(await voleRate());
    if (version === null) continue;
    const folder = path.join(dir, String(turn));
    mkdirSync(folder);
    other.push(await buildbotRate(config, folder, { jobs: JOBS, warmUp: WARM_UP, count: COUNT }));
  }
  const { packing, unpacking } = await archiveSeconds(dir);
  const volePerSecond = median(own);
  const perSecond = median(other);
  const result: Result = {
    jobs: JOBS,
    count: COUNT,
    turns: TURNS,
    volePerSecond,
    buildbot: version === null ? null : { version, perSecond, ratio: volePerSecond / perSecond },
    archive: {
      files: CACHE_FILES,
      mib: Math.round((CACHE_FILES * CACHE_FILE_BYTES) / 1024 / 1024),
      packingSeconds: packing,
      unpackingSeconds: unpacking,
    },
  };
  process.stdout.write(
    process.argv.includes('--json') ? `${JSON.stringify(result, null, 2)}\n` : table(result),
  );
} finally {
  rmSync(dir, { recursive: true, force: true });
}
