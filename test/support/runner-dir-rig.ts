import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
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
import type { Cleanup } from './temp.ts';

const fileThread = path.resolve(import.meta.dirname, '../../dist/file-thread.js');
const NEVER = new AbortController().signal;

/** The parts of a runner's directory, as a runner has them; several on one directory are several runners. */
export class CacheRig {
  readonly warnings: string[] = [];
  readonly files = new FileThreads(fileThread);
  readonly dir: RunnerDir;
  readonly trash: Trash;
  readonly owners: OwnersOf;
  readonly namespaces: Namespaces;
  readonly saved: SavedCheckouts;

  private constructor(dir: RunnerDir) {
    this.dir = dir;
    this.trash = new Trash(dir.layout.trash, this.files, (line) => void this.warnings.push(line));
    this.owners = new OwnersOf(dir.layout.jobs);
    this.namespaces = new Namespaces(dir, this.trash, this.owners);
    this.saved = new SavedCheckouts(dir, this.trash, this.owners);
  }

  static async open(root: string, cleanup: Cleanup): Promise<CacheRig> {
    const rig = new CacheRig(await openDir(root));
    cleanup.defer(() => rig.files.close());
    return rig;
  }

  trimmer(limits: Partial<TrimLimits> = {}): Trimmer {
    const warn = (_facts: object, line: string): void => void this.warnings.push(line);
    const { dir, namespaces, saved, files, trash } = this;
    return new Trimmer({
      dir,
      namespaces,
      saved,
      files,
      trash,
      limits: { cacheSize: { bytes: 1 }, gitSize: { bytes: 1 }, minFree: { bytes: 0 }, ...limits },
      log: { debug: () => {}, info: () => {}, warn },
    });
  }

  hold(repository = 'team/app') {
    return this.namespaces.hold({ repository, trust: 'trusted', image: 'host' }, NEVER);
  }

  /** A namespace that nobody holds, with one file of this size. */
  async fill(repository: string, bytes = 10_000): Promise<string> {
    const held = await this.hold(repository);
    writeFileSync(path.join(held.path, 'file'), Buffer.alloc(bytes, 1));
    held.release({ remove: false });
    return held.name;
  }

  /** A tree as a runner leaves it that was killed. */
  leaveTree(identity: OwnerIdentity, events: readonly object[] = []): string {
    const tree = this.dir.layout.jobTree(identity.run, identity.attempt, identity.server);
    mkdirSync(path.join(tree, 'src'), { recursive: true });
    const lines = [identity, ...events].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(path.join(tree, 'owner.jsonl'), lines.join(''));
    return tree;
  }

  /** Of this process, where nothing else is said. */
  identity(change: Partial<OwnerIdentity> = {}): OwnerIdentity {
    return {
      version: 1,
      directory: this.dir.id,
      bootId: bootId(),
      pidNamespace: pidNamespace(),
      process: 'of-a-test',
      pid: process.pid,
      pidStart: processStat(process.pid)?.start ?? '0',
      run: 1,
      attempt: 1,
      server: '0123abcd',
      repository: 'team/app',
      account: 'build1',
      namespace: 'none',
      git: null,
      cgroup: null,
      marker: `${this.dir.id}/1-1.0123abcd`,
      startedAt: 1,
      ...change,
    };
  }

  /** Everything below cache/, records included. */
  cached(): string[] {
    return readdirSync(this.dir.layout.cache);
  }
}

/** A pid and start time that no process has any more. */
export const DEAD = { pid: 4_000_000, pidStart: '1' } as const;
