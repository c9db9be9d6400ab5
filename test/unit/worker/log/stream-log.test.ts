import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type LogRecord, parseRecord } from '../../../../src/shared/log-record.ts';
import { RunLog } from '../../../../src/worker/log/run-log.ts';
import { Cleanup } from '../../../support/temp.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const MIB = 1024 * 1024;

function openLog(over: { limitBytes?: number; secrets?: string[] } = {}) {
  const file = path.join(cleanup.tempDir(), 'log');
  const spooled: number[] = [];
  const fd = openSync(file, 'ax');
  cleanup.defer(() => closeSync(fd));
  const log = new RunLog({
    fd,
    limitBytes: 64 * MIB,
    secrets: [],
    startedAt: Date.now(),
    onSpooled: (bytes) => spooled.push(bytes),
    ...over,
  });
  const records = (): LogRecord[] => {
    const text = readFileSync(file, 'utf8');
    expect(text.endsWith('\n')).toBe(true);
    return text
      .slice(0, -1)
      .split('\n')
      .map((line) => {
        const record = parseRecord(line);
        if (!record) throw new Error(`no record: ${line.slice(0, 80)}`);
        return record;
      });
  };
  return { log, file, spooled, records };
}

/** What a step's output, read in these parts, is in the log. */
function recordsOf(parts: readonly (string | Buffer)[], secrets: string[] = []): LogRecord[] {
  const { log, records } = openLog({ secrets });
  const stream = log.stream(1, 'o');
  for (const part of parts) stream.push(Buffer.from(part));
  stream.end();
  log.close();
  return records();
}

const textsOf = (parts: readonly (string | Buffer)[]): string[] => recordsOf(parts).map((one) => one.text);

describe('characters', () => {
  const tricky = Buffer.concat([
    Buffer.from(`${'a'.repeat(32_767)}€`),
    Buffer.from([0xff]),
    Buffer.from('more\nnext\n'),
  ]);
  const expected = [`${'a'.repeat(32_767)}€\ufffdmore`, 'next'];

  test('that are split over reads are one, and a byte that is no UTF-8 is one U+FFFD', () => {
    for (let at = 32_760; at < 32_780; at++) {
      expect(textsOf([tricky.subarray(0, at), tricky.subarray(at)]), `split at ${at}`).toEqual(expected);
    }
    expect(textsOf([tricky])).toEqual(expected);
  });

  test('of all lengths survive any read size', () => {
    const text = 'é€😀ß-'.repeat(50);
    for (const size of [1, 2, 3, 5, 7]) {
      const bytes = Buffer.from(`${text}\n`);
      const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      expect(textsOf(parts)).toEqual([text]);
    }
  });

  test('are never cut where a line over 64 KiB is, whole or in parts', () => {
    for (let shift = 0; shift < 4; shift++) {
      const text = 'x'.repeat(shift) + '😀'.repeat(50_000);
      const bytes = Buffer.from(`${text}\n`);
      for (const parts of [[bytes], [bytes.subarray(0, 70_001), bytes.subarray(70_001)]]) {
        const records = recordsOf(parts);
        expect(records.map((one) => one.text).join('')).toBe(text);
        expect(records.map((one) => one.continues)).toEqual([true, true, true, false]);
        for (const record of records) expect(Buffer.byteLength(record.text)).toBeLessThanOrEqual(65_536);
      }
    }
  });

  test('a line over 64 KiB of bytes that are no UTF-8 becomes U+FFFD and loses nothing after it', () => {
    const records = recordsOf([Buffer.alloc(200_000, 0xff), Buffer.alloc(100_000, 0x80), '\nafter\n']);
    expect(records.at(-1)?.text).toBe('after');
    const all = records.slice(0, -1).map((one) => one.text);
    expect(all.join('')).toBe('\ufffd'.repeat(300_000));
  });
});

describe('lines', () => {
  test('of exactly 64 KiB are one record', () => {
    const line = 'y'.repeat(65_536);
    for (const parts of [[`${line}\n`], [line, '\n'], [line]]) {
      expect(recordsOf(parts).map((one) => [one.continues, one.text.length])).toEqual([[false, 65_536]]);
    }
  });

  test('lose a carriage return at their end, also when it came in another read', () => {
    expect(textsOf(['one\r\ntwo\r', '\nthree\r\n', '\r\n', 'fo\rur\n'])).toEqual([
      'one',
      'two',
      'three',
      '',
      'fo\rur',
    ]);
  });

  test('keep the last one without newline', () => {
    expect(textsOf(['one\nlast'])).toEqual(['one', 'last']);
    expect(textsOf(['one\n'])).toEqual(['one']);
  });

  test('that are empty are records too', () => {
    expect(textsOf(['\n\na\n\n'])).toEqual(['', '', 'a', '']);
  });

  test('hold back a secret that is split over reads, and the last line is told masked', () => {
    const { log, records } = openLog({ secrets: ['hunter22'] });
    const stream = log.stream(3, 'e');
    stream.push(Buffer.from('pass hunt'));
    stream.push(Buffer.from('er22 ok'));
    stream.end();
    log.close();
    expect(records()).toMatchObject([{ step: 3, stream: 'e', text: 'pass *** ok', continues: false }]);
    expect(stream.lastLine).toBe('pass *** ok');
  });
});

describe("vole's own lines", () => {
  test('are masked, and several lines are several records', () => {
    const { log, records } = openLog({ secrets: ['hunter22'] });
    log.say(0, 'fetching https://u:hunter22@host\r\nsecond');
    log.close();
    expect(records().map((one) => one.text)).toEqual(['fetching https://u:***@host', 'second']);
  });
});

describe('a log over its limit', () => {
  test('keeps its head and its last 4 MiB, and says between them how much is missing', () => {
    const limitBytes = 10 * MIB;
    const { log, file, records } = openLog({ limitBytes });
    const stream = log.stream(1, 'o');
    const line = (n: number): string => `${String(n).padStart(8, '0')} ${'z'.repeat(89)}\n`;
    const count = 200_000;
    for (let n = 0; n < count; n += 1_000) {
      stream.push(Buffer.from(Array.from({ length: 1_000 }, (_, i) => line(n + i)).join('')));
      log.flushSoon();
    }
    stream.end();
    const length = log.close();
    expect(statSync(file).size).toBe(length);
    expect(length).toBeLessThanOrEqual(limitBytes + 200);
    expect(length).toBeGreaterThan(limitBytes - MIB);
    const all = records();
    const gap = all.findIndex((one) => one.stream === 'v');
    const bytesMissing = Number(/: (\d+) bytes are missing here/.exec(all[gap]?.text ?? '')?.[1]);
    const numbers = all.filter((one) => one.stream === 'o').map((one) => Number(one.text.slice(0, 8)));
    expect(numbers.slice(0, gap)).toEqual(Array.from({ length: gap }, (_, i) => i));
    const tail = numbers.slice(gap);
    expect(tail).toEqual(Array.from({ length: tail.length }, (_, i) => count - tail.length + i));
    const missing = count - numbers.length;
    // Each was 98 bytes and a prefix of at least six.
    expect(bytesMissing).toBeGreaterThanOrEqual(missing * 105);
    expect(bytesMissing).toBeLessThan(missing * 112);
  });

  test('is whole where it is not over: no record stands for nothing', () => {
    const { log, records } = openLog({ limitBytes: 5 * MIB });
    const stream = log.stream(1, 'o');
    for (let n = 0; n < 3_000; n++) stream.push(Buffer.from(`${'q'.repeat(999)}\n`));
    stream.end();
    log.close();
    expect(records()).toHaveLength(3_000);
    expect(records().every((one) => one.stream === 'o')).toBe(true);
  });
});

test('a small limit holds, and half of it is told at once', () => {
  const limitBytes = 64 * 1024;
  const { log, file, records } = openLog({ limitBytes });
  const stream = log.stream(1, 'o');
  for (let n = 0; n < 50_000; n++) stream.push(Buffer.from(`line ${n}\n`));
  stream.end();
  log.close();
  expect(statSync(file).size).toBeLessThanOrEqual(limitBytes + 200);
  const all = records();
  expect(all[0]?.text).toBe('line 0');
  expect(all.at(-1)?.text).toBe('line 49999');
  expect(all.filter((one) => one.text.includes('bytes are missing here'))).toHaveLength(1);
});

test('no carriage return is left before the end of a line', () => {
  const { log, records } = openLog();
  const stream = log.stream(1, 'o');
  stream.push(Buffer.from('one\r\r\ntwo\r'));
  stream.push(Buffer.from('\nthr\ree\r\n'));
  stream.end();
  log.close();
  expect(records().map((one) => one.text)).toEqual(['one', 'two', 'thr\ree']);
});
