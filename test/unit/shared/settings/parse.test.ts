import { describe, expect, it } from 'vitest';
import { allowedText, parseSetting } from '../../../../src/shared/settings/parse.ts';
import { allSettings } from '../../../../src/shared/settings/resolve.ts';
import type { SettingKind } from '../../../../src/shared/settings/setting.ts';

const value = (kind: SettingKind, text: string) => {
  const parsed = parseSetting(kind, text, '/work');
  return parsed.ok ? parsed.value : `refused: ${parsed.allowed}`;
};

describe('a value', () => {
  const jobs: SettingKind = { type: 'int', min: 1, max: 256 };

  it.each(['0', 'x', '', '257', '1.5', '-1', '1e2', ' 4', '0x4'])('%j is no number of jobs', (text) => {
    expect(value(jobs, text)).toBe('refused: a whole number from 1 to 256');
  });

  it('is a number within its bounds', () => {
    expect(value(jobs, '256')).toBe(256);
    expect(value({ type: 'number', min: 0.1, max: 4 }, '0.5')).toBe(0.5);
  });

  it('is a path made absolute from where the command was started', () => {
    expect(value({ type: 'path' }, 'a/../b')).toBe('/work/b');
    expect(value({ type: 'path' }, '/x')).toBe('/x');
    expect(value({ type: 'path' }, '')).toMatch(/^refused/);
    expect(value({ type: 'path' }, 'a\0b')).toMatch(/^refused/);
  });

  it('is a name by which a commit is signed', () => {
    const name: SettingKind = { type: 'signature', maxLength: 20 };
    expect(value(name, ' vole, the bot ')).toBe('vole, the bot');
    for (const text of ['', 'a <b>', 'a\nX: y', 'x'.repeat(21)])
      expect(value(name, text)).toBe('refused: one line without < and >, at most 20 characters');
  });

  it('is a user of an image, and never an option', () => {
    for (const user of ['1000', 'ci', 'ci:1000', 'a.b-c:d_e'])
      expect(value({ type: 'user' }, user)).toBe(user);
    for (const text of ['', '--privileged', ' --privileged', 'a b', 'a:', ':a', 'a:b:c'])
      expect(value({ type: 'user' }, text)).toBe('refused: USER or USER:GROUP, each a name or a number');
  });

  it('is a list without empty parts', () => {
    expect(value({ type: 'list', separator: ',' }, 'a, b,,c,')).toEqual(['a', 'b', 'c']);
    expect(value({ type: 'list', separator: ',' }, '')).toEqual([]);
  });

  it('is no list of nothing but commas, and none over its bounds', () => {
    const bounded = { type: 'list', separator: ',', maxItems: 2, maxLength: 3 } as const;
    expect(value(bounded, ',,')).toBe('refused: a list separated by commas, at most 2 of 3 characters each');
    expect(value(bounded, 'abc,de')).toEqual(['abc', 'de']);
    for (const text of ['a,b,c', 'abcd']) expect(value(bounded, text)).toMatch(/^refused/);
    expect(value({ type: 'string', maxLength: 3 }, 'abc')).toBe('abc');
    expect(value({ type: 'string', maxLength: 3 }, 'abcd')).toMatch(/^refused.*at most 3 characters/);
  });

  it('is a list of names that variables can have', () => {
    const names = { type: 'list', separator: ',', of: 'variable names' } as const;
    expect(value(names, 'HTTP_PROXY, _x1')).toEqual(['HTTP_PROXY', '_x1']);
    for (const text of ['A=B', 'A,B=', '1A', 'A-B', '$A'])
      expect(value(names, text)).toBe('refused: a list of variable names separated by commas');
  });

  it('is a size or a share', () => {
    expect(value({ type: 'size-or-share' }, '50%')).toEqual({ share: 0.5 });
    expect(value({ type: 'size-or-share' }, '10G')).toEqual({ bytes: 10 * 1024 ** 3 });
    expect(value({ type: 'size-or-share' }, '10Q')).toMatch(/^refused: a size such as/);
  });

  it('is an address, also of IPv6', () => {
    expect(value({ type: 'address' }, '[::1]:0')).toEqual({ host: '::1', port: 0 });
    expect(value({ type: 'address' }, 'ci.example:8080')).toEqual({ host: 'ci.example', port: 8080 });
    for (const text of [':80', 'host', 'host:65536', 'http://host:80', 'a b:80']) {
      expect(value({ type: 'address' }, text)).toMatch(/^refused: HOST:PORT/);
    }
  });

  it('is on or off', () => {
    expect(['true', '1', 'YES', 'on', 'false', '0'].map((text) => value({ type: 'flag' }, text))).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(value({ type: 'flag' }, 'maybe')).toBe('refused: true or false (also yes, no, on, off, 1, 0)');
  });
});

it('every default in the table is allowed by its own kind', () => {
  expect(allSettings().length).toBeGreaterThan(25);
  for (const [name, setting] of allSettings()) {
    if (setting.default === null) continue;
    expect(parseSetting(setting.kind, setting.default, '/'), name).toMatchObject({ ok: true });
  }
});

it('says what is allowed of every setting', () => {
  for (const [name, setting] of allSettings()) expect(allowedText(setting.kind), name).not.toBe('');
});
