import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { PublishRequest } from '../../shared/agent/result.ts';
import { formatBytes } from '../../shared/units.ts';
import type { Git, GitReply } from '../pipelines/git.ts';
import type { Mirror } from '../pipelines/mirror.ts';

const LOCAL_MS = 2 * 60_000;
const MOST_BUNDLE = 512 * 1024 * 1024;

type Options = Omit<Parameters<Git>[1], 'cwd' | 'timeoutMs'> & { readonly timeoutMs?: number };

/**
 * Objects that a runner handed in, beside a mirror and never in it: git sees both while they are looked at and
 * pushed, and the mirror has them when it fetches them from the forge. Inside a turn of the mirror.
 */
export class Quarantine {
  readonly #mirror: Mirror;
  readonly #dir: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(mirror: Mirror, dir: string) {
    this.#mirror = mirror;
    this.#dir = dir;
    this.#env = {
      GIT_OBJECT_DIRECTORY: dir,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${path.join(mirror.dir, 'objects').replace(/["\\]/g, '\\$&')}"`,
    };
  }

  /** Empty: what a process that was killed left there is removed. */
  static async open(mirror: Mirror): Promise<Quarantine> {
    const dir = `${mirror.dir}.publish`;
    await rm(dir, { recursive: true, force: true });
    await mkdir(path.join(dir, 'pack'), { recursive: true, mode: 0o700 });
    return new Quarantine(mirror, dir);
  }

  git(args: readonly string[], options: Options = {}): Promise<GitReply> {
    const env = { ...this.#env, ...options.env };
    return this.#mirror.run(args, { timeoutMs: LOCAL_MS, ...options, env });
  }

  /**
   * Takes the bundle in and looks whether it is what was asked to be pushed: one commit, well-formed as all
   * that comes with it, on the parent that was leased. Null, or what is wrong with it.
   */
  async take(bundle: string, { commit, parent }: PublishRequest): Promise<string | null> {
    const { size } = await stat(bundle);
    if (size > MOST_BUNDLE) return `the change is over ${formatBytes(MOST_BUNDLE)}`;
    const verified = await this.git(['bundle', 'verify', '--quiet', bundle]);
    if (!verified.ok) return `the change is no bundle of this repository: ${verified.why}`;
    const heads = await this.git(['bundle', 'list-heads', bundle]);
    const listed = heads.stdout.split('\n').filter((line) => line !== '');
    if (!heads.ok || listed.length !== 1 || listed[0]?.split(' ', 1)[0] !== commit)
      return 'the bundle does not hold the commit that is to be pushed, and that alone';
    const unpacked = await this.git(['bundle', 'unbundle', bundle]);
    if (!unpacked.ok) return `the change cannot be unpacked: ${unpacked.why}`;
    return (await this.#objectsFault()) ?? this.#parentFault(commit, parent);
  }

  async remove(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Like `git fsck`, of what came alone: all that the mirror has would take minutes. */
  async #objectsFault(): Promise<string | null> {
    const folder = path.join(this.#dir, 'pack');
    for (const name of await readdir(folder)) {
      if (!name.endsWith('.pack')) continue;
      const index = path.join(folder, `checked-${name}.idx`);
      const checked = await this.git(['index-pack', '--strict', '-o', index, path.join(folder, name)]);
      if (!checked.ok) return `the change is not well-formed: ${checked.why}`;
      await rm(index, { force: true });
    }
    return null;
  }

  async #parentFault(commit: string, parent: string): Promise<string | null> {
    const listed = await this.git(['rev-list', '--parents', '-n', '1', commit, '--']);
    const [own, ...parents] = listed.stdout.trim().split(' ');
    if (listed.ok && own === commit && parents.length === 1 && parents[0] === parent) return null;
    return 'the change is not one commit on the commit that was checked out';
  }
}
