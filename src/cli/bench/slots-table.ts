import { counted } from '../../shared/counted.ts';
import type { SlotsBench } from './slots.ts';

/** The results for people: one line a number of slots, rates in jobs a second. */
export function slotsTable(bench: SlotsBench): string {
  const what = bench.sleepMs > 0 ? `jobs that sleep ${bench.sleepMs} ms` : 'jobs that do nothing';
  const head = ['slots', 'vole/s', 'bare loop/s', 'vole/loop', 'xargs -P/s', 'vole/xargs'];
  const rows = bench.rows.map((row) => [
    String(row.jobs),
    row.volePerSecond.toFixed(1),
    row.barePerSecond.toFixed(1),
    (row.volePerSecond / row.barePerSecond).toFixed(2),
    row.xargsPerSecond === null ? '-' : row.xargsPerSecond.toFixed(1),
    row.xargsPerSecond === null ? '-' : (row.volePerSecond / row.xargsPerSecond).toFixed(2),
  ]);
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const lines = [head, ...rows].map((row) => row.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  '));
  const memory = bench.idleRunnerMiB
    .map(({ jobs, mib }) => `${mib.toFixed(0)} MiB at --jobs ${jobs}`)
    .join(', ');
  return [
    `${bench.count} ${what}, lease to durable record, ${counted(bench.cores, 'core')}`,
    ...lines,
    `an idle runner: ${memory}`,
    '',
  ].join('\n');
}
