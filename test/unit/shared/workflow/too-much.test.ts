import { describe, expect, it } from 'vitest';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';
import { faultLine } from '../../../../src/shared/workflow/types.ts';

const STEPS = 'steps: [{run: x}]';

function faults(text: string): string[] {
  const parsed = parseWorkflow(text, 'f');
  return parsed.ok ? [] : parsed.faults.map(faultLine);
}

describe('a file that wants too much', () => {
  const matrix = (values: string) => `jobs:\n  a: {${STEPS}, strategy: {matrix: {${values}}}}\n`;

  it('is refused with 300 matrix entries, and accepted with 256', () => {
    const numbers = (count: number) => `n: [${Array.from({ length: count }, (_, i) => i).join(',')}]`;
    expect(faults(matrix(numbers(300)))).toEqual([
      'f:2:37: `a`: 300 matrix entries; at most 256 are allowed',
    ]);
    expect(faults(matrix(numbers(256)))).toEqual([]);
  });

  it('is refused before millions of entries are made', () => {
    const axes = 'abcdefghij'
      .split('')
      .map((name) => `${name}: [0,1,2,3,4,5,6,7,8,9]`)
      .join(', ');
    expect(faults(matrix(axes))).toEqual([
      'f:2:37: `a`: 10000000000 matrix entries; at most 256 are allowed',
    ]);
  });

  it('is refused with 2 MB', () => {
    expect(faults('#'.repeat(2_000_000))).toEqual(['f:1:1: the file has 1.9 MiB; at most 1 MiB are read']);
  });

  it.each([
    ['lists', '['.repeat(1_000_000), 'more than 50 levels'],
    ['maps', '{a: '.repeat(250_000), 'more than 50 levels'],
    ['dashes', '- '.repeat(500_000), 'more than 50 levels'],
    ['anchors', '&a '.repeat(300_000), 'more than 100000 pieces of YAML'],
    [
      'keys',
      Array.from({ length: 60_000 }, (_, i) => `k${i}: a`).join('\n'),
      'more than 100000 pieces of YAML',
    ],
  ])('is refused with too many %s, without taking the process down', (_, text, message) => {
    expect(faults(text)).toEqual([expect.stringContaining(message)]);
  });

  it.each([
    ['single quotes', `jobs: {a: {steps: [{run: '${"'".repeat(1_000_000)}x'}]}}`],
    ['backslashes', `jobs: {a: {steps: [{run: "${'\\\\'.repeat(250_000)}x"}]}}`],
  ])('is read at once where it is one text of %s', (_, text) => {
    expect(faults(text)).toEqual([]);
  });

  it('is refused where aliases multiply, also in a circle', () => {
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
    for (const [name, before] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf'].map((pair) => [pair[0], pair[1]])) {
      bomb.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(',')}]`);
    }
    expect(faults(bomb.join('\n'))).toEqual([expect.stringContaining('aliases make too much of this file')]);
    expect(faults('a: &x [*x]\n')).toEqual([expect.stringContaining('aliases make too much of this file')]);
  });

  it('is refused where its matrix makes gigabytes of it', () => {
    const values = Array.from({ length: 200 }, (_, i) => `${i}${'z'.repeat(900)}`).join(',');
    const run = '        ${{ matrix.x }}\n'.repeat(20_000);
    const text = `jobs:\n  a:\n    strategy: {matrix: {x: [${values}]}}\n    steps:\n    - run: |\n${run}`;
    expect(faults(text)).toEqual([expect.stringContaining('of text with its matrix put in; at most 2 MiB')]);
  });

  it('is refused with more runs than start at once', () => {
    const jobs = Array.from({ length: 1001 }, (_, i) => `  j${i}: {${STEPS}}`).join('\n');
    expect(faults(`jobs:\n${jobs}\n`)).toEqual([
      'f:1002:3: more than 1000 runs; at most so many start at once',
    ]);
  });
});
