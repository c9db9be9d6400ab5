import { expect, it } from 'vitest';
import { editDistance, suggest } from '../../../src/shared/suggest.ts';

it('counts insertions, deletions, replacements and swaps', () => {
  expect(editDistance('', 'abc')).toBe(3);
  expect(editDistance('jbos', 'jobs')).toBe(1);
  expect(editDistance('kitten', 'sitting')).toBe(3);
});

it('finds what was meant, and nothing where nothing is near', () => {
  const names = ['steps', 'needs', 'labels', 'env'];
  expect(suggest('step', names)).toBe('steps');
  expect(suggest('lables', names)).toBe('labels');
  expect(suggest('image', names)).toBeNull();
  expect(suggest('x', names)).toBeNull();
  expect(suggest('b', ['a'])).toBeNull();
  expect(suggest('', names)).toBeNull();
});
