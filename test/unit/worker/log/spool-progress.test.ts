import { expect, test } from 'vitest';
import { SpoolProgress } from '../../../../src/worker/log/spool-progress.ts';
import { until } from '../../../support/until.ts';

test('what little is written in a moment is told together, and much at once', async () => {
  const told: number[] = [];
  const progress = new SpoolProgress((bytes) => told.push(bytes));
  progress.grown(10);
  progress.grown(20);
  expect(told).toEqual([]);
  await until('it is told', () => told.length > 0);
  expect(told).toEqual([20]);
  progress.grown(20 + 64 * 1024);
  expect(told).toEqual([20, 20 + 64 * 1024]);
  progress.grown(70_000);
  await until('the rest is told', () => told.length > 2);
  expect(told.at(-1)).toBe(70_000);
});

test('nothing is told after its end', async () => {
  const told: number[] = [];
  const ended = new SpoolProgress((bytes) => told.push(bytes));
  const other = new SpoolProgress((bytes) => told.push(bytes));
  ended.grown(1);
  ended.end();
  other.grown(2);
  await until('a later one is told', () => told.length > 0);
  expect(told).toEqual([2]);
});
