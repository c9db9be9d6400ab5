import { expect, test } from 'vitest';
import { isAlive, parseStat } from '../../../../src/shared/platform/processes.ts';

const rest = Array.from({ length: 30 }, (_, i) => String(100 + i)).join(' ');

test.each([
  ['sh', 'sh'],
  ['a name with spaces', 'x y'],
  ['parentheses and what looks like fields', 'a) Z 1 2 (b'],
  ['a newline', 'a\nb'],
])('a process is read whose name has %s', (_, name) => {
  expect(parseStat(`42 (${name}) S 7 8 ${rest}`)).toEqual({
    pid: 42,
    state: 'S',
    ppid: 7,
    pgid: 8,
    start: '116',
  });
});

test('what is no such line is nothing', () => {
  for (const text of ['', '42', '42 (sh', '42 (sh) S 1 2', ') (']) expect(parseStat(text)).toBeNull();
});

test('the dead, the zombies and nobody are not alive', () => {
  const stat = { pid: 1, ppid: 0, pgid: 1, start: '1' };
  for (const state of ['Z', 'X']) expect(isAlive({ ...stat, state })).toBe(false);
  for (const state of ['R', 'S', 'D', 'T', 't', 'I']) expect(isAlive({ ...stat, state })).toBe(true);
  expect(isAlive(null)).toBe(false);
});
