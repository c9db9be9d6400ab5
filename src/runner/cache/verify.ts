import { readdirSync } from 'node:fs';
import path from 'node:path';
import { guardName } from '../../shared/dir-layout.ts';
import { readOwner } from '../../shared/owner-file.ts';
import { runCommand } from '../../shared/platform/commands.ts';
import { NEW_PREFIX, treeGuardName } from '../dir/job-tree.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import { hostFacts, ownerState } from '../sweep/owner-state.ts';
import type { Namespaces } from './namespaces.ts';
import type { SavedCheckouts } from './saved-checkouts.ts';

const FSCK_MS = 30 * 60_000;

export interface Finding {
  /** `damaged` needs somebody; `leftover` is cleaned by the next start or trim; `unknown` is left alone. */
  readonly what: 'damaged' | 'leftover' | 'unknown';
  readonly where: string;
  readonly text: string;
}

/** Looks for what is not as it should be, and changes nothing. */
export async function verifyCache(
  parts: { dir: RunnerDir; namespaces: Namespaces; saved: SavedCheckouts },
  onProgress: (at: { done: number; of: number }) => void,
): Promise<Finding[]> {
  const { dir, namespaces, saved } = parts;
  const found: Finding[] = [...verifyRecords(namespaces), ...verifyTrash(dir), ...verifyTrees(dir)];
  const names = saved.names();
  for (const [done, name] of names.entries()) {
    onProgress({ done, of: names.length });
    const finding = await verifyCheckout(dir, saved, name);
    if (finding) found.push(finding);
  }
  return found;
}

function verifyRecords({ records }: Namespaces): Finding[] {
  const bare = records
    .names()
    .filter((name) => records.read(name) === null)
    .map((name) => finding('leftover', `cache/${name}`, 'has no record: it counts as never used'));
  const strays = records
    .strays()
    .map((name) => finding('leftover', `cache/${name}`, 'is a record without its namespace'));
  return [...bare, ...strays];
}

function verifyTrash(dir: RunnerDir): Finding[] {
  const count = readdirSync(dir.layout.trash).length;
  return count === 0 ? [] : [finding('leftover', 'trash', `${count} things wait for their deletion`)];
}

/** Trees of runners that live are held by them; of the others, what the next start will do is said. */
function verifyTrees(dir: RunnerDir): Finding[] {
  const facts = hostFacts();
  return readdirSync(dir.layout.jobs).flatMap((name) => {
    if (name.startsWith(NEW_PREFIX)) return [];
    const tree = path.join(dir.layout.jobs, name);
    const guard = dir.guards.try(treeGuardName(tree), 'shared');
    if (!guard) return [];
    guard.release();
    const where = `jobs/${name}`;
    const record = readOwner(tree);
    if (record === 'unreadable')
      return [finding('unknown', where, 'has an owner record that cannot be read')];
    if (record === null) return [finding('leftover', where, 'has no owner record')];
    if (record.identity.directory !== dir.id) return [finding('unknown', where, 'is of another directory')];
    switch (ownerState(record, facts)) {
      case 'alive':
        return [];
      case 'dead':
        return [finding('leftover', where, 'its runner has died')];
      case 'leftovers':
        return [finding('leftover', where, 'its runner has died, and processes of the job live')];
      case 'unknown':
        return [finding('unknown', where, 'its processes cannot be looked up from here')];
    }
  });
}

/** Beside readers and fetches: an exclusive guard alone is waited for, since it means removal or repacking. */
async function verifyCheckout(dir: RunnerDir, saved: SavedCheckouts, name: string): Promise<Finding | null> {
  const guard = await dir.guards.shared(guardName.savedCheckout(name));
  try {
    if (saved.lastUsed(name) === 0) return null; // removed meanwhile
    const git = ['fsck', '--connectivity-only', '--no-dangling', '--no-progress'];
    const done = await runCommand('git', git, { cwd: saved.path(name), timeoutMs: FSCK_MS });
    return done.ok ? null : finding('damaged', `git/${name}.git`, done.why);
  } finally {
    guard.release();
  }
}

function finding(what: Finding['what'], where: string, text: string): Finding {
  return { what, where, text };
}
