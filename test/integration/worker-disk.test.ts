import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseRecord } from '../../src/shared/log-record.ts';
import { RunLog } from '../../src/worker/log/run-log.ts';
import { smallDisk } from '../support/small-disk.ts';
import { Cleanup } from '../support/temp.ts';
import { WorkerRig } from '../support/worker-rig.ts';

const cleanup = new Cleanup();
const disk = smallDisk(cleanup, '3m');
const rig = new WorkerRig();
afterAll(async () => {
  await rig.close();
  await cleanup.run();
});

describe.skipIf(disk === null)('on a full disk', () => {
  test('the log says so as a value, and what is there ends with a whole record', () => {
    const spooled: number[] = [];
    const file = path.join(disk ?? '', 'log');
    const fd = openSync(file, 'ax');
    const log = new RunLog({
      fd,
      limitBytes: 64 * 1024 * 1024,
      secrets: [],
      startedAt: Date.now(),
      onSpooled: (bytes) => spooled.push(bytes),
    });
    const stream = log.stream(1, 'o');
    for (let n = 0; n < 5_000; n++) stream.push(Buffer.from(`${'w'.repeat(998)}\n`));
    stream.end();
    const length = log.close();
    closeSync(fd);
    expect(log.failure?.code).toBe('ENOSPC');
    expect(statSync(file).size).toBe(length);
    expect(spooled.at(-1)).toBe(length);
    const text = readFileSync(file, 'utf8');
    expect(text.endsWith('\n')).toBe(true);
    for (const line of text.slice(0, -1).split('\n')) expect(parseRecord(line)?.text).toHaveLength(998);
  });

  test('a job whose log cannot be written fails with disk-full, and its later steps do not run', async () => {
    const run = rig.start(
      {
        steps: [
          'head -c 4000000 /dev/zero | tr "\\0" "a" | fold -w 999; sleep 60',
          { run: 'echo never', if: 'always' },
        ],
      },
      {},
      { spool: path.join(disk ?? '', 'job-log') },
    );
    const { outcome, logBytes, ms } = await run.ended;
    expect(outcome).toMatchObject({ result: 'failed', reason: 'disk-full' });
    expect(outcome.detail).toMatch(/the log cannot be written: .*ENOSPC/);
    expect(outcome.steps.map((step) => step.result)).toEqual(['failed', 'skipped']);
    expect(outcome.steps[0]).toMatchObject({ reason: 'disk-full' });
    expect(ms).toBeLessThan(20_000);
    expect(logBytes).toBe(statSync(run.paths.spool).size);
  });

  test('a step that would go on for ever is ended when its log cannot be written', async () => {
    const run = rig.start(
      { steps: ['yes "$(head -c 900 /dev/zero | tr "\\0" a)"'] },
      {},
      {
        spool: path.join(disk ?? '', 'endless-log'),
      },
    );
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'failed', reason: 'disk-full' });
    expect(outcome.steps[0]).toMatchObject({ result: 'failed', reason: 'disk-full' });
  });

  test('a run whose last bytes of log find no room has not passed', async () => {
    const spool = path.join(disk ?? '', 'last-bytes');
    const run = rig.start({ steps: ['head -c 200000 /dev/zero | tr "\\0" a'] }, {}, { spool });
    const { outcome, logBytes } = await run.ended;
    expect(logBytes).toBe(statSync(spool).size);
    expect(outcome).toMatchObject({ result: 'failed', reason: 'disk-full' });
  });
});
