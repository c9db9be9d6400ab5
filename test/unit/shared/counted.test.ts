import { expect, it } from 'vitest';
import { counted } from '../../../src/shared/counted.ts';

it('counts things in the right number', () => {
  expect([0, 1, 2].map((count) => counted(count, 'slot'))).toEqual(['0 slots', '1 slot', '2 slots']);
  expect(counted(2, 'entry', 'entries')).toBe('2 entries');
});
