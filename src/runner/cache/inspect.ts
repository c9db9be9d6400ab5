import { existsSync, lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { guardName } from '../../shared/dir-layout.ts';
import type { FileThreads } from '../dir/file-threads.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { Trash } from '../dir/trash.ts';
import { removeUnowned } from '../sweep/unowned-trees.ts';
import type { Namespaces } from './namespaces.ts';
import { breather, type TrimEntry } from './plan-trim.ts';
import type { SavedCheckouts } from './saved-checkouts.ts';
import { Sizes } from './sizes.ts';

/** One thing that takes room in a directory. */
export interface Stored {
  readonly kind: 'cache' | 'git';
  readonly name: string;
  /** Null where the record beside a namespace is missing, and for a saved checkout. */
  readonly key: { repository: string; trust: string; image: string } | null;
  readonly sizeBytes: number;
  /** Epoch ms; null where it is not known. */
  readonly lastUsed: number | null;
  /** Somebody held its guard when it was looked at. */
  readonly inUse: boolean;
}

/** The parts of a directory that are looked at. */
export interface Inspected {
  readonly dir: RunnerDir;
  readonly namespaces: Namespaces;
  readonly saved: SavedCheckouts;
  readonly files: FileThreads;
  readonly trash: Trash;
}

type Hear = (done: number, total: number) => void;

/** What is stored, the least recently used last; measured where that may have changed. Safe beside live runners. */
export async function listStored(of: Inspected, onProgress: Hear): Promise<Stored[]> {
  const { dir, namespaces, saved, files } = of;
  const sizes = new Sizes(dir, namespaces, saved, files);
  const { cache, git } = await sizes.all(new AbortController().signal, onProgress);
  const breathe = breather();
  const stored: Stored[] = [];
  for (const { name, bytes, lastUsed } of cache) {
    await breathe();
    if (!existsSync(dir.layout.namespace(name))) continue; // evicted meanwhile
    const record = namespaces.records.read(name);
    stored.push({
      kind: 'cache',
      name,
      key: record && { repository: record.repository, trust: record.trust, image: record.image },
      sizeBytes: bytes,
      lastUsed: lastUsed || null,
      inUse: namespaces.inUse(name),
    });
  }
  const there = git.filter(({ name }) => existsSync(saved.path(name)));
  stored.push(...there.map((entry) => checkout(dir, entry)));
  return stored.toSorted((a, b) => (b.lastUsed ?? 0) - (a.lastUsed ?? 0));
}

function checkout(dir: RunnerDir, { name, bytes, lastUsed }: TrimEntry): Stored {
  // Taken and given back at once: a job that wants it just then waits for one poll.
  const guard = dir.guards.try(guardName.savedCheckout(name), 'exclusive');
  guard?.release();
  return {
    kind: 'git',
    name,
    key: null,
    sizeBytes: bytes,
    lastUsed: lastUsed || null,
    inUse: guard === null,
  };
}

export interface Cleared {
  readonly removed: readonly string[];
  readonly busy: readonly string[];
  /** What was removed took, or null where something could not be measured. */
  readonly removedBytes: number | null;
  /** The saved checkouts, which stay. */
  readonly kept: readonly { readonly name: string; readonly sizeBytes: number }[];
}

/** Removes every namespace that nobody uses, and says what that was and what stays. Safe beside live runners. */
export async function clearDir(
  of: Inspected,
  clear: () => Promise<{ removed: string[]; busy: string[] }>,
  onProgress: Hear,
): Promise<Cleared> {
  const stored = await listStored(of, onProgress).catch(() => null);
  const { removed, busy } = await clear();
  const gone = new Set(removed);
  const took = (stored ?? []).filter(({ kind, name }) => kind === 'cache' && gone.has(name));
  return {
    removed,
    busy,
    removedBytes: stored && took.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    kept: (stored ?? [])
      .filter(({ kind }) => kind === 'git')
      .map(({ name, sizeBytes }) => ({ name, sizeBytes })),
  };
}

export interface Verified {
  /** A line for each thing that is not as it should be, and what to do. */
  readonly faults: string[];
  /** A line for each that was removed, since nobody can need it. */
  readonly removed: string[];
  /** What could not be looked at since somebody has it alone just now. */
  readonly skipped: string[];
}

/** Looks for what should not be in a directory, and removes what is certainly nobody's. Safe beside live runners. */
export async function verifyDir(of: Inspected, onProgress: Hear): Promise<Verified> {
  const { dir, namespaces, saved, trash } = of;
  const found: Verified = { faults: [], removed: [], skipped: [] };
  const { removed, kept } = await removeUnowned(dir, trash);
  found.removed.push(...removed);
  found.faults.push(...kept);

  const names = namespaces.records.names();
  const checkouts = saved.names();
  const breathe = breather();
  for (const [at, name] of names.entries()) {
    await breathe();
    onProgress(at, names.length + checkouts.length);
    const checked = verifyNamespace(dir, namespaces, name);
    if (checked === 'skipped') found.skipped.push(`cache/${name}`);
    if (typeof checked === 'object') found.faults.push(`cache/${name} ${checked.fault}`);
  }
  namespaces.tidyRecords();
  for (const [at, name] of checkouts.entries()) {
    onProgress(names.length + at, names.length + checkouts.length);
    await verifyCheckout(saved, name, found);
  }
  found.faults.push(...(await undeletable(dir, trash)));
  return found;
}

/** Deletes what was on its way out, and says what withstands; why is said by the trash. */
async function undeletable(dir: RunnerDir, trash: Trash): Promise<string[]> {
  const before = readdirSync(dir.layout.trash);
  trash.empty();
  await trash.settled();
  const left = new Set(readdirSync(dir.layout.trash));
  return before.filter((name) => left.has(name)).map((name) => `trash/${name} cannot be deleted`);
}

/** Under its guard: who has it may just be making or removing it, with its record. */
function verifyNamespace(
  dir: RunnerDir,
  namespaces: Namespaces,
  name: string,
): 'whole' | 'skipped' | { fault: string } {
  const guard = dir.guards.try(guardName.namespace(name), 'exclusive');
  if (!guard) return 'skipped';
  try {
    const stat = lstatSync(dir.layout.namespace(name), { throwIfNoEntry: false });
    if (stat && !stat.isDirectory()) return { fault: 'is no directory: its next job makes it anew' };
    if (!stat || namespaces.records.read(name)) return 'whole'; // or just evicted
    return { fault: 'has no record that can be read: it is evicted first' };
  } finally {
    guard.release();
  }
}

/** A damaged one is worth nothing: it is removed where nobody has it, and fetched afresh by its next job. */
async function verifyCheckout(saved: SavedCheckouts, name: string, found: Verified): Promise<void> {
  const checked = await saved.verify(name);
  const shown = `git/${path.basename(saved.path(name))}`;
  if (checked === 'skipped') found.skipped.push(shown);
  if (typeof checked === 'string' || !existsSync(saved.path(name))) return;
  if (saved.removeIfFree(name) === 'removed')
    found.removed.push(`${shown}, which is damaged: ${checked.damage}`);
  else found.faults.push(`${shown} is damaged and in use: its next job fetches it afresh: ${checked.damage}`);
}
