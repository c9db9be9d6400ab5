import { expect, test } from 'vitest';
import { faultsIn } from '../../support/lock-log.ts';

test('two exclusive grants at once, and a shared beside an exclusive one, are faults', () => {
  expect(faultsIn('grant a.1 exclusive\ngrant b.1 exclusive')).toHaveLength(1);
  expect(faultsIn('grant a.1 shared\ngrant b.1 exclusive')).toHaveLength(1);
  expect(faultsIn('missing a.1')).toHaveLength(1);
});

test('shared beside shared, one after another, and after a kill are none', () => {
  expect(faultsIn('grant a.1 shared\ngrant b.1 shared')).toEqual([]);
  expect(faultsIn('grant a.1 exclusive\nend a.1\ngrant b.1 exclusive')).toEqual([]);
  expect(faultsIn('grant a.1 exclusive\nkilling a\ngrant b.1 exclusive')).toEqual([]);
});
