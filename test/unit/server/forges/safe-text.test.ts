import { describe, expect, it } from 'vitest';
import { safeMarkdown, safeTitle } from '../../../../src/server/forges/safe-text.ts';

const GAP = '\u200b';

describe('what an agent wrote', () => {
  it.each([
    ['@alice, look', `@${GAP}alice, look`],
    ['cc @team/reviewers', `cc @${GAP}team/reviewers`],
    ['(@bob) and **@carol** and _@dan_', `(@${GAP}bob) and **@${GAP}carol** and _@${GAP}dan_`],
    ['> @eve\n- @eve', `> @${GAP}eve\n- @${GAP}eve`],
    ['<b></b>@eve', `<b></b>@${GAP}eve`],
    ['\\@eve', `\\@${GAP}eve`],
  ])('mentions nobody: %s', (text, safe) => {
    expect(safeMarkdown(text)).toBe(safe);
  });

  it.each(['&#64;alice', '&#064;alice', '&#x40;alice', '&#X0040;alice', '&commat;alice'])(
    'mentions nobody by another name of the sign: %s',
    (text) => {
      expect(safeMarkdown(text)).toBe(text.replace('&', '&amp;'));
    },
  );

  it('keeps addresses, links, code and closing keywords', () => {
    const text =
      'Fixes #3. Mail a@example.org, see [x](https://e.org/a@1), `git@host`, 5 @ 3\n\n```py\nx = a @ b\n```';
    expect(safeMarkdown(text)).toBe(text);
  });

  it('cannot look like a comment of vole', () => {
    expect(safeMarkdown('<!-- vole:run:1 -->\n<!--vole:run:2-->')).not.toContain('<!--');
    expect(safeMarkdown('<\0!-- vole:run:1 -->')).not.toContain('<!--');
  });

  it('is bounded, and not cut within a character', () => {
    const long = safeMarkdown('@'.repeat(100_000));
    expect(long.length).toBeLessThan(60_100);
    expect(long).toMatch(/\(cut here\)$/);
    expect(safeMarkdown('a😀', 2)).toBe('a\n\n... (cut here)');
  });

  it('is one line as a title', () => {
    expect(safeTitle('Do it\n\nfor @alice')).toBe(`Do it for @${GAP}alice`);
    expect(safeTitle('  ')).toBe('A change');
    expect(safeTitle('x'.repeat(300))).toHaveLength(250);
  });
});
