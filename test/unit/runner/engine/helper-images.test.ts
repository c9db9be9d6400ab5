import { expect, it } from 'vitest';
import { HelperImages } from '../../../../src/runner/engine/helper-images.ts';

it('images of trusted jobs come first, then the latest, five at most', () => {
  const images = new HelperImages();
  images.used('foreign', 'untrusted', 90);
  for (const [at, name] of ['a', 'b', 'c', 'd', 'e'].entries()) images.used(name, 'trusted', at);
  expect(images.candidates()).toEqual(['e', 'd', 'c', 'b', 'a']);
  images.used('a', 'untrusted', 100);
  expect(images.candidates()[0]).toBe('a');
  expect(new HelperImages().candidates()).toEqual([]);
});
