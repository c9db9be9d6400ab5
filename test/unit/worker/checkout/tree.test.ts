import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { makeGitDir } from '../../../../src/worker/checkout/tree.ts';
import { Cleanup } from '../../../support/temp.ts';

const cleanup = new Cleanup();
afterAll(() => cleanup.run());

function gitDirOf(over: { url?: string; ref?: string; sha?: string }) {
  const src = cleanup.tempDir();
  mkdirSync(path.join(src, '.git'), { recursive: true });
  const source = { url: 'u', ref: 'refs/heads/main', sha: 'a'.repeat(40), submodules: false, ...over };
  makeGitDir(src, source, '/saved.git');
  const read = (name: string): string => readFileSync(path.join(src, '.git', name), 'utf8');
  const config = (key: string): string =>
    execFileSync('git', ['config', '-f', path.join(src, '.git/config'), '--get', key], { encoding: 'utf8' });
  return { read, config };
}

describe("the job's .git", () => {
  test("borrows the saved checkout's objects and stands at the commit", () => {
    const { read, config } = gitDirOf({});
    expect(read('objects/info/alternates')).toBe('/saved.git/objects\n');
    expect(read('HEAD')).toBe(`${'a'.repeat(40)}\n`);
    expect(read('packed-refs')).toContain(`${'a'.repeat(40)} refs/remotes/origin/main\n`);
    expect(config('core.repositoryformatversion')).toBe('0\n');
  });

  test.each([
    '/with space/"quotes"\\and;#comments',
    'x\n[core]\n\tsshCommand = evil',
    'https://host/ü?a=b&c=%20',
  ])('has the address %j as it is', (url) => {
    const { config, read } = gitDirOf({ url });
    expect(config('remote.origin.url')).toBe(`${url}\n`);
    expect(read('config')).not.toMatch(/^\s*sshCommand/m);
  });

  test('has the ref of a tag under its own name, and none where there is no sensible one', () => {
    expect(gitDirOf({ ref: 'refs/tags/v1' }).read('packed-refs')).toContain(' refs/tags/v1\n');
    for (const ref of ['refs/pull/1/head', 'main', 'refs/heads/a\nb', 'refs/tags/a b']) {
      const { read } = gitDirOf({ ref });
      expect(() => read('packed-refs')).toThrow(/ENOENT/);
    }
  });

  test('says which kind of object names it has', () => {
    expect(gitDirOf({ sha: 'b'.repeat(64) }).config('extensions.objectformat')).toBe('sha256\n');
  });
});
