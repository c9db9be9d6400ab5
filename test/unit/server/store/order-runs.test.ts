import { describe, expect, it } from 'vitest';
import { needsFirst } from '../../../../src/server/store/order-runs.ts';

function order(runs: Record<string, string[]>): string[] {
  const list = Object.entries(runs).map(([key, needs]) => ({ key, needs }));
  return needsFirst(list).map((at) => list[at]?.key ?? '');
}

describe('the order of the runs of a pipeline', () => {
  it('is as given where nothing needs another', () => {
    expect(order({ c: [], a: [], b: [] })).toEqual(['c', 'a', 'b']);
  });

  it('puts what is needed before', () => {
    expect(order({ deploy: ['test', 'lint'], test: ['build'], lint: [], build: [] })).toEqual([
      'build',
      'test',
      'lint',
      'deploy',
    ]);
  });

  it('refuses a circle, a need of nothing and a key given twice', () => {
    expect(() => order({ a: ['b'], b: ['a'] })).toThrow('needs itself');
    expect(() => order({ a: ['b'] })).toThrow('needs b');
    expect(() =>
      needsFirst([
        { key: 'a', needs: [] },
        { key: 'a', needs: [] },
      ]),
    ).toThrow('the key a');
  });
});
