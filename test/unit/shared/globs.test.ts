import { describe, expect, it } from 'vitest';
import { matchesRepository } from '../../../src/shared/globs.ts';

describe('globs of repositories', () => {
  it.each([
    [[], 'team/app', true],
    [['team/app'], 'team/app', true],
    [['team/app'], 'team/apple', false],
    [['team/*'], 'team/app', true],
    [['team/*'], 'team/', true],
    [['team/*'], 'other/app', false],
    [['team/*'], 'team/app/x', false],
    [['*'], 'team/app', false],
    [['*/*'], 'team/app', true],
    [['**/app'], 'team/app', true],
    [['*/app-*-x'], 'team/app-1-2-x', true],
    [['*/a*b*c'], 'team/abcbc', true],
    [['*/a*b*c'], 'team/acb', false],
    [['no/*', 'team/a*'], 'team/app', true],
    [['team/a.p'], 'team/app', false],
    [['team/[ab]'], 'team/a', false],
    [['team/a+'], 'team/a+', true],
    [['Team/app'], 'team/app', false],
    [[''], 'team/app', false],
  ])('%j takes %s: %s', (globs, name, taken) => {
    expect(matchesRepository(globs, name)).toBe(taken);
  });

  it('answers at once however many stars a peer sends', () => {
    const glob = `x/${'*a'.repeat(200)}*b`;
    expect(matchesRepository([glob], `x/${'a'.repeat(5_000)}`)).toBe(false);
  });
});
