import { expect, it } from 'vitest';
import { cut, fitted, table } from '../../../../src/cli/client/table.ts';

it('a table has columns as wide as their widest cell and nothing that commands a terminal', () => {
  expect(
    table(
      ['A', 'B'],
      [
        ['long', 'x'],
        ['é', '\u001b[2Jy\nz'],
      ],
    ),
  ).toBe('A     B\nlong  x\né     y z\n');
  expect(table(['A', 'B'], [])).toBe('A  B\n');
});

it('a table that is too wide has its widest columns cut, and no others', () => {
  const rows = [
    ['1', 'a'.repeat(40), 'b'.repeat(12), 'exact'],
    ['2', 'short', 'ünïcödé', 'exact'],
  ];
  expect(fitted(rows, 100, [1, 2])).toEqual(rows);
  expect(fitted(rows, 40, [1, 2])).toEqual([
    ['1', `${'a'.repeat(15)}…`, 'b'.repeat(12), 'exact'],
    ['2', 'short', 'ünïcödé', 'exact'],
  ]);
  const [first = [], ...rest] = fitted(rows, 28, [1, 2]) ?? [];
  expect(first).toEqual(['1', `${'a'.repeat(7)}…`, `${'b'.repeat(7)}…`, 'exact']);
  expect(rest).toEqual([['2', 'short', 'ünïcödé', 'exact']]);
  expect(fitted(rows, 27, [1, 2])).toBeNull();
});

it('a text is cut by characters, with an ellipsis for what is missing', () => {
  expect([cut('four', 4), cut('fiver', 4), cut('💥💥💥', 2)]).toEqual(['four', 'fiv…', '💥…']);
});
