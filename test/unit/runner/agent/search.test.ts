import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSearch } from '../../../../src/runner/agent/search/arguments.ts';
import { globFilter, matchesIn, patternOf } from '../../../../src/runner/agent/search/search.ts';

describe('the stand-in for ripgrep', () => {
  it('understands how the agents’ server asks', () => {
    const listing = ['--no-config', '--files', '--hidden', '--glob=*.ts', '--glob=!**/.git/**', '.'];
    expect(parseSearch(listing)).toEqual({
      pattern: null,
      path: '.',
      hidden: true,
      globs: ['*.ts', '!**/.git/**'],
    });
    expect(parseSearch(['--json', '--hidden', '--no-messages', '--', '--x', 'a.ts'])).toEqual({
      pattern: '--x',
      path: 'a.ts',
      hidden: true,
      globs: [],
    });
  });

  it.each([
    [['--files', '--pre=sh', '.'], '--pre=sh'],
    [['x', '.'], 'a search without --json'],
    [['--json', '--'], 'a search without a pattern'],
  ])('refuses what it does not: %j', (args, fault) => {
    expect(parseSearch(args)).toBe(fault);
  });

  it.each([
    [[], 'a/b.ts', true],
    [['*.ts'], 'a/b.ts', true],
    [['*.ts'], 'a/b.js', false],
    [['*.{ts,js}', '!b.*'], 'a/b.js', false],
    [['a/*.ts'], 'a/b.ts', true],
    [['a/*.ts'], 'a/c/b.ts', false],
    [['!**/.git/**'], '.git/config', false],
    [['!**/.git/**'], '.github/x.yml', true],
  ])('takes by %j of the file %s: %s', (globs, file, taken) => {
    expect(globFilter(globs)(file)).toBe(taken);
  });

  it('says of a pattern that is none what is wrong with it', () => {
    expect(patternOf('(')).toMatch(/^regex parse error: /);
    expect(patternOf('(?i)needle')).toEqual(/needle/gi);
  });
});

describe('what it finds', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(path.join(os.tmpdir(), 'vole-search-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('is each line that matches, with its place in bytes', () => {
    writeFileSync(path.join(dir, 'a'), 'ä\nä x x\n');
    expect([...matchesIn('a', dir, /x/g)]).toEqual([
      {
        type: 'match',
        data: {
          path: { text: 'a' },
          lines: { text: 'ä x x\n' },
          line_number: 2,
          absolute_offset: 3,
          submatches: [
            { match: { text: 'x' }, start: 3, end: 4 },
            { match: { text: 'x' }, start: 5, end: 6 },
          ],
        },
      },
    ]);
  });

  it('is nothing in a file that is no text, or that is gone', () => {
    writeFileSync(path.join(dir, 'a'), 'x\0x');
    expect([...matchesIn('a', dir, /x/g), ...matchesIn('b', dir, /x/g)]).toEqual([]);
  });
});
