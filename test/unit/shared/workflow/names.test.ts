import { expect, it } from 'vitest';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';
import { faultLine } from '../../../../src/shared/workflow/types.ts';

const STEPS = 'steps: [{run: x}]';

function faults(jobs: string): string[] {
  const parsed = parseWorkflow(`jobs:\n${jobs}`, 'f');
  return parsed.ok ? [] : parsed.faults.map(faultLine);
}

it.each([
  [
    'two jobs of one name',
    `  a: {name: x, ${STEPS}}\n  b: {name: x, ${STEPS}}\n`,
    'f:3:13: `name`: `x` is what the job `a` goes by; expected a name of its own',
  ],
  [
    "a name that is another job's key, though that job has a name too",
    `  a: {name: b, ${STEPS}}\n  b: {name: x, ${STEPS}}\n`,
    'f:2:13: `name`: `b` is what the job `b` goes by; expected a name of its own',
  ],
  [
    "a name that is what another's entry is shown as",
    `  a: {name: b (2), ${STEPS}}\n  b: {strategy: {matrix: {n: [1, 2]}}, ${STEPS}}\n`,
    'f:2:13: `name`: `b (2)` is what the job `b` goes by; expected a name of its own',
  ],
  [
    'a name that does not tell the entries apart',
    `  a:\n    name: on \${{ matrix.os }}\n    strategy: {matrix: {os: [linux], n: [1, 2]}}\n    ${STEPS}\n`,
    'f:3:11: `name`: several entries of the matrix are shown as `on linux`; expected `${{ matrix.NAME }}` of what they differ in',
  ],
  [
    'values that stand twice',
    `  a: {strategy: {matrix: {n: [1, 2, 1]}}, ${STEPS}}\n`,
    'f:2:18: `a`: the matrix has the entry `1` twice; expected entries that differ',
  ],
  [
    'an entry that is included twice, whatever the order of its values',
    `  a: {strategy: {matrix: {include: [{a: 1, b: 2}, {b: 2, a: 1}]}}, ${STEPS}}\n`,
    'f:2:18: `a`: the matrix has the entry `2, 1` twice; expected entries that differ',
  ],
])('runs that nobody could tell apart are a fault: %s', (_, jobs, line) => {
  expect(faults(jobs)).toEqual([line]);
});

it.each([
  ['its own key', `  a: {name: a, ${STEPS}}\n`],
  [
    'what tells its entries apart',
    `  a: {name: "on \${{ matrix.n }}", strategy: {matrix: {n: [1, 2]}}, ${STEPS}}\n`,
  ],
  [
    'no word of the values, which then follow it',
    `  a: {name: x, strategy: {matrix: {n: [1, 2]}}, ${STEPS}}\n  b: {name: x (3), ${STEPS}}\n`,
  ],
])('a name may be %s', (_, jobs) => {
  expect(faults(jobs)).toEqual([]);
});
