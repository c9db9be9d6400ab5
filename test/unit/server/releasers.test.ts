import { expect, it } from 'vitest';
import { Releasers } from '../../../src/server/releasers.ts';

it('what was started is ended in reverse order, once, whatever one of them does', async () => {
  const order: string[] = [];
  const errors: string[] = [];
  const releasers = new Releasers((what, error) => errors.push(`${what}: ${(error as Error).message}`), 20);
  releasers.add('store', async () => void order.push('store'));
  releasers.add('stuck', () => new Promise(() => {}));
  releasers.add('broken', () => {
    order.push('broken');
    throw new Error('no');
  });
  releasers.add('http', async () => void order.push('http'));
  await Promise.all([releasers.close(), releasers.close()]);
  await releasers.close();
  expect(order).toEqual(['http', 'broken', 'store']);
  expect(errors).toEqual(['broken: no', 'stuck: not closed within 20 ms']);
});
