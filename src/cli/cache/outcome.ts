import type { Cleared } from '../../runner/cache/cache-admin.ts';
import type { Eviction } from '../../runner/cache/plan-trim.ts';
import type { Trimmed } from '../../runner/cache/trimmer.ts';
import type { Finding } from '../../runner/cache/verify.ts';
import { formatBytes } from '../../shared/units.ts';

export function trimJson({ cache, git }: Trimmed): object {
  return { cache, git };
}

export function trimText({ cache, git }: Trimmed): string {
  return evictionText('namespaces', cache) + evictionText('saved checkouts', git);
}

function evictionText(
  what: string,
  { removed, busy, bytesBefore, bytesAfter, overshootBytes }: Eviction,
): string {
  const lines = [
    `${what}: removed ${removed.length}, ${formatBytes(bytesBefore)} before, ${formatBytes(bytesAfter)} now`,
    ...removed.map((name) => `  removed ${name}`),
    ...busy.map((name) => `  skipped ${name}: in use`),
  ];
  if (overshootBytes > 0) lines.push(`  still ${formatBytes(overshootBytes)} over the limit`);
  return `${lines.join('\n')}\n`;
}

export function clearText({ cache, git }: { cache: Cleared; git: Cleared }): string {
  const lines = (what: string, { removed, busy }: Cleared): string[] => [
    `${what}: removed ${removed.length}`,
    ...removed.map((name) => `  removed ${name}`),
    ...busy.map((name) => `  skipped ${name}: in use`),
  ];
  return `${[...lines('namespaces', cache), ...lines('saved checkouts', git)].join('\n')}\n`;
}

export function verifyText(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'all is well\n';
  const count = (what: Finding['what']) => findings.filter((finding) => finding.what === what).length;
  const lines = findings.map(({ what, where, text }) => `${what.padEnd(8)}  ${where}: ${text}`);
  const sums = `${count('damaged')} damaged, ${count('leftover')} left over, ${count('unknown')} unknown`;
  const notes = [
    count('damaged') > 0 ? 'a damaged saved checkout is fetched afresh by the next job that finds it so' : '',
    count('leftover') > 0 ? 'what is left over goes with the next start of a runner or the next trim' : '',
  ].filter(Boolean);
  return `${[...lines, '', sums, ...notes].join('\n')}\n`;
}
