import { describe, expect, it } from 'vitest';
import {
  formatBytes,
  formatDuration,
  parseBytes,
  parseDuration,
  parseShare,
} from '../../../src/shared/units.ts';

describe('sizes', () => {
  it.each([
    ['0', 0],
    ['1073741824', 1024 ** 3],
    ['500M', 500 * 1024 ** 2],
    ['500MiB', 500 * 1024 ** 2],
    ['500mb', 500_000_000],
    ['1.5G', 1.5 * 1024 ** 3],
    ['10 GiB', 10 * 1024 ** 3],
    ['7B', 7],
  ])('reads %s', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each(['', '10Q', '-1', '1e3', '0x10', 'GiB', '1,5G', '99999999999T', 'NaN', '1 2'])(
    'refuses %j',
    (text) => {
      expect(parseBytes(text)).toBeNull();
    },
  );

  it('refuses names that every object has', () => {
    expect(parseBytes('1constructor')).toBeNull();
  });

  it('writes three digits at most', () => {
    expect(
      [0, 999, 1000, 1536, 1024 ** 2, 999.9 * 1024, 123.4 * 1024 ** 3, 5 * 1024 ** 5].map(formatBytes),
    ).toEqual(['0 B', '999 B', '1 KiB', '1.5 KiB', '1 MiB', '1 MiB', '123 GiB', '5120 TiB']);
  });
});

describe('times', () => {
  it.each([
    ['90', 90_000],
    ['0', 0],
    ['90s', 90_000],
    ['250ms', 250],
    ['15m', 900_000],
    ['1h30m', 5_400_000],
    ['1d', 86_400_000],
    ['0.5s', 500],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', 's', '-5s', '5 s', '1w', '1h 30m', '1e9', '9'.repeat(30)])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  it('writes the two largest units', () => {
    const times = [0, 850, 999.9, 4200, 60_000, 200_000, 3_600_000, 7_500_000, 90_000_000];
    expect(times.map(formatDuration)).toEqual([
      '0 ms',
      '850 ms',
      '1 s',
      '4.2 s',
      '1 min',
      '3 min 20 s',
      '1 h',
      '2 h 5 min',
      '1 d 1 h',
    ]);
  });
});

describe('shares', () => {
  it('reads over 0 to 100 per cent', () => {
    expect(['50%', '12.5 %', '100%', '0%', '101%', '50', '%'].map(parseShare)).toEqual([
      0.5,
      0.125,
      1,
      null,
      null,
      null,
      null,
    ]);
  });
});
