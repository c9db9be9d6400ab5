import { expect, it } from 'vitest';
import { table } from '../../../../src/cli/client/table.ts';

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
