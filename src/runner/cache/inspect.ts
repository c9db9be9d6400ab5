import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { guardName } from '../../shared/dir-layout.ts';
import { readOwner } from '../../shared/owner-file.ts';
import { NEW_PREFIX } from '../dir/job-tree.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Namespaces } from './namespaces.ts';
import type { SavedCheckouts } from './saved-checkouts.ts';

/** One thing that takes room in a directory. */
export interface Stored {
  readonly kind: 'cache' | 'git';
  readonly name: string;
  /** Null where the record beside a namespace is missing, and for a saved checkout. */
  readonly key: { repository: string; trust: string; image: string } | null;
  /** As last measured by a trim; null before the first. */
  readonly sizeBytes: number | null;
  /** Epoch ms; null where it is not known. */
  readonly lastUsed: number | null;
  /** Somebody held its guard when it was looked at. */
  readonly inUse: boolean;
}

/** What is stored, the least recently used last. Safe beside live runners. */
export function listStored(dir: RunnerDir, namespaces: Namespaces, saved: SavedCheckouts): Stored[] {
  const caches = namespaces.records.names().map((name): Stored => {
    const record = namespaces.records.read(name);
    return {
      kind: 'cache',
      name,
      key: record && { repository: record.repository, trust: record.trust, image: record.image },
      sizeBytes: record?.sizeBytes ?? null,
      lastUsed: record?.lastUsed ?? null,
      inUse: isHeld(dir, guardName.namespace(name)),
    };
  });
  const checkouts = saved.names().map((name): Stored => {
    const inUse = isHeld(dir, guardName.savedCheckout(name));
    return { kind: 'git', name, key: null, sizeBytes: null, lastUsed: saved.lastUsed(name), inUse };
  });
  return [...caches, ...checkouts].toSorted((a, b) => (b.lastUsed ?? 0) - (a.lastUsed ?? 0));
}

/** Taken and given back at once: a job that wants it just then waits for one poll. */
function isHeld(dir: RunnerDir, name: string): boolean {
  const guard = dir.guards.try(name, 'exclusive');
  guard?.release();
  return guard === null;
}

/** Looks for what should not be in a directory; a line for each, which says what to do. Changes nothing. */
export function verifyDir(dir: RunnerDir, namespaces: Namespaces): string[] {
  const { layout } = dir;
  const faults: string[] = [];
  const names = new Set(namespaces.records.names());
  for (const name of names) {
    const stat = lstatSync(layout.namespace(name), { throwIfNoEntry: false });
    if (stat && !stat.isDirectory()) faults.push(`cache/${name} is no directory: its next job makes it anew`);
    else if (stat && !namespaces.records.read(name)) {
      faults.push(`cache/${name} has no record that can be read: it is evicted first`);
    }
  }
  for (const file of readdirSync(layout.cache)) {
    const name = file.endsWith('.json') && !file.startsWith('.') ? file.slice(0, -'.json'.length) : null;
    if (name !== null && !names.has(name))
      faults.push(`cache/${file} is the record of no namespace: delete it`);
  }
  for (const name of readdirSync(layout.jobs)) {
    if (name.startsWith(NEW_PREFIX)) continue;
    const owner = readOwner(path.join(layout.jobs, name));
    if (owner === null)
      faults.push(`jobs/${name} has no owner record: the next start removes it where no other runner lives`);
    if (owner === 'unreadable') {
      faults.push(
        `jobs/${name} has an owner record that cannot be read, which keeps every namespace: remove it`,
      );
    }
  }
  const waiting = readdirSync(layout.trash).length;
  if (waiting > 0)
    faults.push(`trash/ has ${waiting} that wait to be deleted: \`vole cache trim\` does it now`);
  return faults;
}
