import path from 'node:path';
import { Namespaces } from '../../src/runner/cache/namespaces.ts';
import { OwnersOf } from '../../src/runner/cache/owners-of.ts';
import { SavedCheckouts } from '../../src/runner/cache/saved-checkouts.ts';
import { type TrimLimits, Trimmer } from '../../src/runner/cache/trimmer.ts';
import { FileThreads } from '../../src/runner/dir/file-threads.ts';
import { openDir, type RunnerDir } from '../../src/runner/dir/open-dir.ts';
import { Trash } from '../../src/runner/dir/trash.ts';
import type { OwnerIdentity } from '../../src/shared/owner-record.ts';
import { bootId, pidNamespace, processStat } from '../../src/shared/platform/processes.ts';

export interface CacheRig {
  readonly dir: RunnerDir;
  readonly files: FileThreads;
  readonly trash: Trash;
  readonly namespaces: Namespaces;
  readonly saved: SavedCheckouts;
  readonly warnings: string[];
  trimmer(limits?: Partial<TrimLimits>): Trimmer;
}

/** What a runner process has open of a directory. `dist` is the folder of the built threads. */
export async function cacheRig(root: string, dist: string): Promise<CacheRig> {
  const dir = await openDir(root);
  const warnings: string[] = [];
  const files = new FileThreads(path.join(dist, 'file-thread.js'));
  const trash = new Trash(dir.layout.trash, files, (line) => warnings.push(line));
  const owners = new OwnersOf(dir.layout.jobs);
  const namespaces = new Namespaces(dir, trash, owners);
  const saved = new SavedCheckouts(dir, trash, owners);
  const note = (_facts: object, line: string): void => void warnings.push(line);
  const log = { debug: () => {}, info: () => {}, warn: note };
  const trimmer = (limits: Partial<TrimLimits> = {}): Trimmer =>
    new Trimmer({
      dir,
      namespaces,
      saved,
      files,
      trash,
      log,
      limits: { cacheSize: { bytes: 1 }, gitSize: { bytes: 1e12 }, minFree: { bytes: 0 }, ...limits },
    });
  return { dir, files, trash, namespaces, saved, warnings, trimmer };
}

export const keyOf = (repository: string) => ({ repository, trust: 'trusted', image: 'host' }) as const;

/** An owner record's first line, of this process. */
export function identityOf(dir: RunnerDir, facts: Partial<OwnerIdentity> = {}): OwnerIdentity {
  return {
    version: 1,
    directory: dir.id,
    bootId: bootId(),
    pidNamespace: pidNamespace(),
    process: 'of-a-test',
    pid: process.pid,
    pidStart: processStat(process.pid)?.start ?? '',
    run: 7,
    attempt: 1,
    server: '0123abcd',
    repository: 'o/n',
    account: 'build1',
    namespace: 'none',
    git: null,
    cgroup: null,
    marker: 'no-marker',
    startedAt: Date.now(),
    ...facts,
  };
}
