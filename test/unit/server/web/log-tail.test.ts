import { describe, expect, it } from 'vitest';
import { tailOf } from '../../../../src/server/web/log-tail.ts';

const record = (text: string) => `12 1 o ${text}\n`;

describe('the tail of a log', () => {
  it('holds every record of a short one', () => {
    const bytes = Buffer.from(record('a') + record('b'));
    const tail = tailOf(bytes, 0, 3);
    expect(tail.records.map((r) => r.text)).toEqual(['a', 'b']);
    expect(tail).toMatchObject({ attempt: 3, skippedBytes: 0, nextOffset: bytes.length });
  });

  it('starts behind the half record that it begins in, and ends before one', () => {
    const bytes = Buffer.from(`alf\n${record('a')}13 1 o unfin`);
    const tail = tailOf(bytes, 100, 1);
    expect(tail.records.map((r) => r.text)).toEqual(['a']);
    expect(tail.skippedBytes).toBe(104);
    expect(tail.nextOffset).toBe(104 + record('a').length);
  });

  it('is bounded in records', () => {
    const bytes = Buffer.from(Array.from({ length: 3000 }, (_, i) => record(String(i))).join(''));
    const tail = tailOf(bytes, 0, 1);
    expect(tail.records).toHaveLength(1000);
    expect(tail.records[0]?.text).toBe('2000');
    expect(bytes.subarray(tail.skippedBytes).toString().startsWith(record('2000'))).toBe(true);
    expect(tail.nextOffset).toBe(bytes.length);
  });

  it('of nothing is nothing', () => {
    expect(tailOf(Buffer.alloc(0), 0, 1)).toEqual({
      attempt: 1,
      records: [],
      skippedBytes: 0,
      nextOffset: 0,
    });
  });
});
