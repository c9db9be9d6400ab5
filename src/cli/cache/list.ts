import type { ListedCheckout, ListedNamespace } from '../../runner/cache/cache-admin.ts';
import { formatBytes, formatDuration } from '../../shared/units.ts';
import { table } from '../client/table.ts';

interface Listed {
  readonly namespaces: readonly ListedNamespace[];
  readonly checkouts: readonly ListedCheckout[];
}

export function listJson({ namespaces, checkouts }: Listed): object {
  return {
    namespaces: namespaces.map(({ name, record, inUse, unwanted }) => ({
      name,
      repository: record?.repository ?? null,
      trust: record?.trust ?? null,
      image: record?.image ?? null,
      sizeBytes: record?.sizeBytes ?? null,
      lastUsedMs: record?.lastUsed ?? null,
      inUse,
      unwanted,
    })),
    checkouts: checkouts.map(({ name, sizeBytes, lastUsed, inUse }) => ({
      name,
      sizeBytes,
      lastUsedMs: lastUsed,
      inUse,
    })),
  };
}

/** Most lately used first. */
export function listText({ namespaces, checkouts }: Listed, now: number): string {
  const byUse = <T>(list: readonly T[], lastUsed: (one: T) => number): T[] =>
    list.toSorted((a, b) => lastUsed(b) - lastUsed(a));
  const caches = byUse(namespaces, ({ record }) => record?.lastUsed ?? 0).map(
    ({ name, record, inUse, unwanted }) => [
      record?.repository ?? '-',
      record?.trust ?? '-',
      record?.image ?? '-',
      record?.sizeBytes == null ? 'not measured' : formatBytes(record.sizeBytes),
      ago(record?.lastUsed ?? 0, now),
      use(inUse, unwanted),
      name,
    ],
  );
  const saved = byUse(checkouts, ({ lastUsed }) => lastUsed).map(({ name, sizeBytes, lastUsed, inUse }) => [
    formatBytes(sizeBytes),
    ago(lastUsed, now),
    use(inUse, false),
    name,
  ]);
  const parts = [
    caches.length === 0
      ? 'no namespaces\n'
      : table(['REPOSITORY', 'TRUST', 'IMAGE', 'SIZE', 'LAST USED', 'USE', 'NAMESPACE'], caches),
    saved.length === 0
      ? 'no saved checkouts\n'
      : table(['SIZE', 'LAST USED', 'USE', 'SAVED CHECKOUT'], saved),
  ];
  return parts.join('\n');
}

function ago(at: number, now: number): string {
  return at === 0 ? 'never' : `${formatDuration(Math.max(0, now - at))} ago`;
}

function use(inUse: boolean, unwanted: boolean): string {
  if (inUse) return unwanted ? 'in use, then removed' : 'in use';
  return unwanted ? 'removed next' : 'free';
}
