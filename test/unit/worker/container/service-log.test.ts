import { expect, it } from 'vitest';
import { boundedLines } from '../../../../src/worker/container/service-log.ts';

it('the last lines are kept, as many as there is room for', () => {
  expect(boundedLines(['a', 'b'], 4)).toEqual(['a', 'b']);
  expect(boundedLines(['a', 'b'], 3)).toEqual(['b']);
  expect(boundedLines(['aaaaaa', 'b'], 3)).toEqual(['b']);
  expect(boundedLines(['a', 'bbbbbb'], 3)).toEqual([]);
});
