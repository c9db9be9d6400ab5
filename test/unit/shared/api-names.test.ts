import { describe, expect, it } from 'vitest';
import {
  accountNameSchema,
  cloneUrlFault,
  queryNumber,
  refFault,
  repositoryNameSchema,
  secretNameSchema,
  secretValueFault,
} from '../../../src/shared/api-names.ts';

describe('a clone URL', () => {
  it.each([
    'https://git.example/owner/name.git',
    'http://127.0.0.1:3000/a/b',
    'ssh://git@git.example:22/a/b.git',
    'git@git.example:a/b.git',
    'file:///srv/git/a.git',
    '/srv/git/with space/a.git',
  ])('%s is taken', (url) => {
    expect(cloneUrlFault(url)).toBeNull();
  });

  it.each([
    '',
    '-upload-pack=touch /tmp/x',
    '--upload-pack=x',
    'ext::sh -c id',
    'git@host::x',
    'fd::17',
    'ssh://-oProxyCommand=id/x',
    'git@-oProxyCommand=id:x',
    'git@host:-x',
    'ftp://host/x',
    'relative/path',
    './relative',
    'https://host/a\nb',
    'host:path',
  ])('%j is refused', (url) => {
    expect(cloneUrlFault(url)).not.toBeNull();
  });
});

describe('a ref', () => {
  it.each(['main', 'feature/ü#%2F', 'v1.0', 'refs/pull/12/head', 'a'.repeat(40)])('%s is taken', (ref) => {
    expect(refFault(ref)).toBeNull();
  });
  it.each([
    '',
    '-main',
    '--all',
    'a..b',
    'main~1',
    'main^{tree}',
    'HEAD@{1}',
    'a b',
    'a:b',
    'x.lock',
    '/x',
    'a\nb',
  ])('%j is refused', (ref) => {
    expect(refFault(ref)).not.toBeNull();
  });
});

describe('names', () => {
  it.each(['a/b', 'Team-1/x.y_z'])('%s is a repository', (name) => {
    expect(repositoryNameSchema.safeParse(name).success).toBe(true);
  });
  it.each(['a', 'a/b/c', '../b', 'a/..', 'a/.git', '-a/b', 'a/b\n', 'a/ b', ''])('%j is none', (name) => {
    expect(repositoryNameSchema.safeParse(name).success).toBe(false);
  });
  it('an account is no option and no path', () => {
    for (const name of ['-x', '.x', 'a/b', 'a b', '', 'a'.repeat(65)])
      expect(accountNameSchema.safeParse(name).success).toBe(false);
    expect(accountNameSchema.safeParse('build-host.1').success).toBe(true);
  });
  it('a secret is a variable, and none that vole sets itself', () => {
    for (const name of ['1X', 'a-b', '', 'VOLE_RUN', 'vole_x'])
      expect(secretNameSchema.safeParse(name).success).toBe(false);
    expect(secretNameSchema.safeParse('TOKEN_2').success).toBe(true);
  });
});

describe('the value of a secret', () => {
  it('is text of 4 bytes to 64 KiB without NUL', () => {
    expect(secretValueFault(Buffer.from('abcd'))).toBeNull();
    expect(secretValueFault(Buffer.from('abc'))).toContain('too short to be masked');
    expect(secretValueFault(Buffer.alloc(64 * 1024, 'x'))).toBeNull();
    expect(secretValueFault(Buffer.alloc(64 * 1024 + 1, 'x'))).toContain('64 KiB');
    expect(secretValueFault(Buffer.alloc(0))).toContain('empty');
    expect(secretValueFault(Buffer.from('a\0b'))).toContain('NUL');
    expect(secretValueFault(Buffer.from([0x61, 0xff]))).toContain('UTF-8');
  });
});

describe('a number in a query', () => {
  it('is whole and within its bounds, or the fault says what is allowed', () => {
    const faultOf = (text: string): unknown => queryNumber(1, 200).safeParse(text).error?.issues[0]?.message;
    expect(queryNumber(1, 200).parse('200')).toBe(200);
    expect(queryNumber(0).parse('0')).toBe(0);
    for (const text of ['', 'x', '-1', '1.5', '1e2', '0x10', '0', '201', '9'.repeat(20)])
      expect(faultOf(text), text).toBe('expected a whole number, 1 to 200');
  });
});
