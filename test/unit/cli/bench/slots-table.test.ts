import { expect, it } from 'vitest';
import { slotsTable } from '../../../../src/cli/bench/slots-table.ts';

it('names each column after what it is, the ratios after what vole is compared with', () => {
  const row = { jobs: 2, volePerSecond: 30, barePerSecond: 60, xargsPerSecond: 120 };
  const lines = slotsTable({ cores: 2, count: 10, sleepMs: 0, rows: [row], idleRunnerMiB: [] }).split('\n');
  const [head = [], cells = []] = lines.slice(1, 3).map((line) => line.trim().split(/ {2,}/));
  expect(new Set(head).size).toBe(head.length);
  expect(Object.fromEntries(head.map((name, at) => [name, cells[at]]))).toMatchObject({
    'vole/loop': '0.50',
    'vole/xargs': '0.25',
  });
});
