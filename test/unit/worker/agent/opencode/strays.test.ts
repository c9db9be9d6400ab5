import { expect, it } from 'vitest';
import { straysAmong } from '../../../../../src/worker/agent/opencode/strays.ts';

const FIRST = 10;
const SERVER = 11;
const own = [FIRST, SERVER];
const stat = (pid: number, ppid: number): { pid: number; ppid: number } => ({ pid, ppid });
const strays = (members: { pid: number; ppid: number }[], others: number[] = []): number[] =>
  straysAmong([stat(FIRST, 9), stat(SERVER, FIRST), ...members], own, ({ pid }) => others.includes(pid)).map(
    ({ pid }) => pid,
  );

it('the server and what is below it is none', () => {
  expect(strays([stat(20, SERVER), stat(21, 20)])).toEqual([]);
});

it('what has lost its parent is one, with all that is below it', () => {
  expect(strays([stat(21, 20), stat(20, FIRST), stat(22, SERVER)])).toEqual([21, 20]);
});

it('what is another run’s is none, nor what that has started', () => {
  expect(strays([stat(20, FIRST), stat(21, 20), stat(30, FIRST)], [20])).toEqual([30]);
});

it('what has another run’s as its child is one', () => {
  expect(strays([stat(20, FIRST), stat(21, 20)], [21])).toEqual([20]);
});
