import { createReadStream, readFileSync } from 'node:fs';
import readline from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { WorkerRig } from '../support/worker-rig.ts';

const MIB = 1024 * 1024;
const rig = new WorkerRig({ task: { baseEnv: { PATH: process.env['PATH'] ?? '' } } });
afterAll(() => rig.close());

function residentBytes(): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]) * 1024;
}

/** The most memory that this process had while the run was going on, over what it had before. */
async function peakOver(run: { ended: Promise<unknown> }): Promise<number> {
  const before = residentBytes();
  let peak = before;
  const look = setInterval(() => {
    peak = Math.max(peak, residentBytes());
  }, 20);
  await run.ended.finally(() => clearInterval(look));
  return peak - before;
}

test('32,767 a, then €, then byte 0xff, then more', async () => {
  const run = await rig.run({
    steps: ["head -c 32767 /dev/zero | tr '\\0' a; printf '\\342\\202\\254\\377'; printf more"],
  });
  expect(run.lines('o')).toEqual([`${'a'.repeat(32_767)}€\ufffdmore`]);
});

test('a 200 MB line without newline costs bounded memory, and what follows is kept', async () => {
  await rig.run({ steps: ["head -c 20000000 /dev/zero | tr '\\0' a"] });
  const run = rig.start(
    { steps: ["head -c 200000000 /dev/zero | tr '\\0' a; echo; echo after; echo last >&2"] },
    { logLimitBytes: 300 * MIB },
  );
  expect(await peakOver(run)).toBeLessThan(64 * MIB);
  expect((await run.ended).outcome.result).toBe('passed');
  let bytes = 0;
  const ends: string[] = [];
  for await (const line of readline.createInterface({ input: createReadStream(run.paths.spool) })) {
    const [, , letter, text = ''] = line.split(' ');
    if (letter === 'O' || (letter === 'o' && text.startsWith('a') && text !== 'after')) bytes += text.length;
    else if (letter !== 'v') ends.push(`${letter} ${text}`);
  }
  expect(bytes).toBe(200_000_000);
  expect(ends.toSorted()).toEqual(['e last', 'o after']);
});

test('the same line under a log limit leaves its end, what follows and how much is missing', async () => {
  const run = await rig.run(
    { steps: ["head -c 30000000 /dev/zero | tr '\\0' a; echo; echo after"] },
    { logLimitBytes: 8 * MIB },
  );
  expect(run.logBytes).toBeLessThan(8 * MIB + 1_000);
  expect(run.records.at(-1)?.text).toBe('after');
  expect(run.lines('v', 0).some((line) => /\d+ bytes are missing here/.test(line))).toBe(true);
});

test('printf err; exit 1 two hundred times is never empty', async () => {
  const step = { run: 'printf err >&2; printf out; exit 1', continueOnError: true };
  const run = await rig.run({ steps: Array.from({ length: 200 }, () => step) });
  expect(run.outcome.result).toBe('passed');
  const records = run.records;
  for (let number = 1; number <= 200; number++) {
    const of = records.filter((record) => record.step === number && record.stream !== 'v');
    expect(of.map((record) => record.text).toSorted(), `step ${number}`).toEqual(['err', 'out']);
  }
});

test('a secret split at every byte across writes is masked each time', async () => {
  const secret = 'sécret-€-42';
  const length = Buffer.byteLength(secret);
  // Bytes are cut by head and tail, and each write is a process and so a read of its own.
  const script = `
    i=1
    while [ $i -lt ${length} ]; do
      printf 'at %s ' $i
      printf %s "$TOKEN" | head -c $i
      sleep 0.01
      printf %s "$TOKEN" | tail -c +$((i + 1))
      echo " end"
      i=$((i + 1))
    done`;
  const run = await rig.run({ secrets: { TOKEN: secret }, steps: [script] });
  expect(run.outcome.result).toBe('passed');
  expect(run.lines('o')).toEqual(Array.from({ length: length - 1 }, (_, i) => `at ${i + 1} *** end`));
});

test('a multi-line secret is masked by lines, but not its short ones', async () => {
  const run = await rig.run({
    secrets: { KEY: 'first-line\n}\nthird-line\n' },
    steps: ['printf %s "$KEY"; echo "x third-line }"; sh -c "echo a first-line >&2"'],
  });
  expect(run.lines('o')).toEqual(['***', '}', '***', 'x *** }']);
  expect(run.lines('e')).toEqual(['a ***']);
});

test("a secret in a step's name, a URL or vole's own words is masked too", async () => {
  const run = await rig.run({
    secrets: { TOKEN: 'hunter2222' },
    steps: [{ name: 'push hunter2222', run: 'exit 3' }],
  });
  expect(run.records.map((record) => record.text).join('\n')).not.toContain('hunter2222');
  expect(run.outcome.detail).toBe('step 1 (push ***): exit code 3');
  expect(JSON.stringify(run.outcome)).not.toContain('hunter2222');
});

test('two streams keep each its own order', async () => {
  const script = 'i=0; while [ $i -lt 5000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done';
  const run = await rig.run({ steps: [script] });
  expect(run.lines('o')).toEqual(Array.from({ length: 5_000 }, (_, i) => `o${i}`));
  expect(run.lines('e')).toEqual(Array.from({ length: 5_000 }, (_, i) => `e${i}`));
});

test('10 million short lines', async () => {
  const run = rig.start({ steps: ['seq 10000000'] }, { logLimitBytes: 512 * MIB });
  expect(await peakOver(run)).toBeLessThan(64 * MIB);
  expect((await run.ended).outcome.result).toBe('passed');
  let next = 1;
  let wrong = 0;
  for await (const part of numbersOf(run.paths.spool)) {
    for (const number of part) if (number !== next++) wrong++;
  }
  expect({ next, wrong }).toEqual({ next: 10_000_001, wrong: 0 });
});

/** The number at the end of each line of standard output. */
async function* numbersOf(file: string): AsyncGenerator<number[]> {
  let rest = '';
  for await (const part of createReadStream(file, { highWaterMark: MIB, encoding: 'latin1' })) {
    const lines = (rest + String(part)).split('\n');
    rest = lines.pop() ?? '';
    yield lines
      .filter((line) => line.includes(' o '))
      .map((line) => Number(line.slice(line.lastIndexOf(' '))));
  }
}

test('lines are in the spool while the step goes on', async () => {
  const run = rig.start({ steps: ['echo early; printf half; sleep 99'] });
  await run.logged('early');
  await until('the main thread to be told', () => run.spooled.some((bytes) => bytes >= run.spoolBytes));
  run.cancel();
  expect((await run.ended).outcome.result).toBe('cancelled');
  expect(run.lines('o')).toEqual(['early', 'half']);
});
