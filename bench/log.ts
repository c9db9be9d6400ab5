// How fast a step's output becomes records in the spool, masked, in the worker's own thread: MB of
// output a second, and what the memory grew by. Each round first writes the same bytes as they are, so
// that the disk's own part can be seen. `node bench/run.mjs log` runs it; `--json` is for programs.
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { RunLog } from '../src/worker/log/run-log.ts';

const READ_BYTES = 64 * 1024;
const ROUND_BYTES = 256 * 1024 * 1024;
const ROUNDS = 4;
const MIB = 1024 * 1024;
const SECRETS = ['correct-horse', 'battery_staple', 'Tr0ub4dor&3xyz', 'ghp_0123456789abcdef', 'sécret-€-42'];

const CASES = [
  { name: '100-byte lines', lineBytes: 100, targetMb: 150 },
  { name: '7-byte lines', lineBytes: 7, targetMb: 60 },
] as const;

/** Lines of text in reads of 64 KiB whose borders are within lines, with a secret in every tenth read. */
function readsOf(lineBytes: number): Buffer[] {
  const words = 'the quick brown fox jumps over a lazy dog and goes home to sleep ';
  const line = (n: number): string => `${(words.slice(n % 31) + words + words).slice(0, lineBytes - 1)}\n`;
  let text = '';
  for (let n = 0; text.length < 10 * READ_BYTES; n++) {
    text += line(n);
    if (n % Math.ceil((10 * READ_BYTES) / lineBytes) === 0) text += `${SECRETS[n % SECRETS.length]}\n`;
  }
  const bytes = Buffer.from(text);
  return Array.from({ length: 10 }, (_, i) => bytes.subarray(i * READ_BYTES, (i + 1) * READ_BYTES));
}

/** Seconds for one round of the log; yields to the event loop as reading does, so that it is flushed as there. */
async function logRound(file: string, reads: readonly Buffer[]): Promise<number> {
  const start = performance.now();
  const fd = openSync(file, 'ax');
  const log = new RunLog({
    fd,
    limitBytes: 4 * ROUND_BYTES,
    secrets: SECRETS,
    startedAt: Date.now(),
    onSpooled: () => {},
  });
  const stream = log.stream(1, 'o');
  for (let done = 0, n = 0; done < ROUND_BYTES; done += READ_BYTES, n++) {
    stream.push(reads[n % reads.length] ?? Buffer.alloc(0));
    log.flushSoon();
    if (n % 4 === 3) await new Promise((resolve) => setImmediate(resolve));
  }
  stream.end();
  log.close();
  closeSync(fd);
  const seconds = (performance.now() - start) / 1_000;
  if (log.failure) throw log.failure;
  rmSync(file);
  return seconds;
}

function rawRound(file: string, reads: readonly Buffer[]): number {
  const start = performance.now();
  const fd = openSync(file, 'w');
  for (let done = 0, n = 0; done < ROUND_BYTES; done += READ_BYTES, n++) {
    writeSync(fd, reads[n % reads.length] ?? Buffer.alloc(0));
  }
  closeSync(fd);
  const seconds = (performance.now() - start) / 1_000;
  rmSync(file);
  return seconds;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const dir = mkdtempSync(path.join(os.tmpdir(), 'vole-bench-'));
const results = [];
try {
  for (const { name, lineBytes, targetMb } of CASES) {
    const reads = readsOf(lineBytes);
    await logRound(path.join(dir, 'log'), reads);
    const before = process.memoryUsage.rss();
    let peak = before;
    const mb = { log: [] as number[], raw: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      mb.raw.push(ROUND_BYTES / 1e6 / rawRound(path.join(dir, 'raw'), reads));
      mb.log.push(ROUND_BYTES / 1e6 / (await logRound(path.join(dir, 'log'), reads)));
      peak = Math.max(peak, process.memoryUsage.rss());
    }
    results.push({
      name,
      mbPerSecond: Math.round(median(mb.log)),
      linesPerSecond: Math.round((median(mb.log) * 1e6) / lineBytes),
      rawMbPerSecond: Math.round(median(mb.raw)),
      targetMbPerSecond: targetMb,
      grownMiB: Math.round((peak - before) / MIB),
    });
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ bench: 'log', secrets: SECRETS.length, results }));
} else {
  console.log(`output of a step to its spool, ${SECRETS.length} secrets masked`);
  for (const one of results) {
    const line = `${one.mbPerSecond} MB/s (target ${one.targetMbPerSecond}), ${(one.linesPerSecond / 1e6).toFixed(1)}M lines/s`;
    console.log(
      `${one.name.padEnd(16)} ${line}, bare write ${one.rawMbPerSecond} MB/s, memory +${one.grownMiB} MiB`,
    );
  }
}
