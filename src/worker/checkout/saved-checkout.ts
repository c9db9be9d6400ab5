import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { JobSpec } from '../../shared/job-spec.ts';
import type { Git } from './git.ts';

type Source = NonNullable<JobSpec['source']>;

/** The bare repository that is kept of each clone URL, and what a fetch into it does. */
export class SavedCheckout {
  readonly dir: string;
  readonly #git: Git;

  constructor(dir: string, git: Git) {
    this.dir = dir;
    this.#git = git;
  }

  /** The name that its guards go by. */
  get name(): string {
    return path.basename(this.dir, '.git');
  }

  /** Whether the commit is here and pinned, so that no maintenance takes it. */
  async has(sha: string): Promise<boolean> {
    if (existsSync(path.join(this.dir, 'refs', 'vole', sha))) return true;
    if (!existsSync(path.join(this.dir, 'HEAD'))) return false;
    const found = await this.#git(['rev-parse', '-q', '--verify', `refs/vole/${sha}^{commit}`], this.dir);
    return found.ok;
  }

  /**
   * Fetches one commit and pins it under `refs/vole/`. Hold the fetch guard. Null where it is here
   * then, else why not: the commit alone where the server gives single commits, else by its ref, else
   * everything, since it may be reachable only from a ref of a pull request.
   */
  async fetch(source: Source): Promise<string | null> {
    const made = await this.#make(source.sha);
    if (made !== null) return made;
    this.#clearStaleLocks();
    const pin = `refs/vole/${source.sha}`;
    const fetched = await this.#fetchRefs(source, [`+${source.sha}:${pin}`]);
    if (fetched === null) return null;
    const refs = source.ref.startsWith('refs/') ? [[`+${source.ref}:refs/fetched/one`]] : [];
    for (const refspecs of [...refs, ['+refs/*:refs/fetched/*']]) {
      const why = await this.#fetchRefs(source, refspecs);
      if (why !== null) continue;
      const pinned = await this.#git(['update-ref', pin, `${source.sha}^{commit}`], this.dir);
      if (pinned.ok) return null;
    }
    return await this.#explain(source, fetched);
  }

  /** Changes when it was set aside and made anew; null where there is none. */
  get identity(): string | null {
    const stat = statSync(this.dir, { throwIfNoEntry: false });
    return stat ? `${stat.ino} ${stat.birthtimeMs}` : null;
  }

  /**
   * Moves a damaged one out of the way. Hold its guard exclusively. `damaged`: which one was found to
   * be so, since another job that found the same may have replaced it meanwhile.
   */
  setAside(trash: string, damaged: string | null): void {
    if (damaged === null || this.identity !== damaged) return;
    mkdirSync(trash, { recursive: true });
    renameSync(this.dir, path.join(trash, `damaged-${this.name}-${Date.now()}`));
  }

  /** Made beside its place and then moved there: a git that is killed in it leaves nothing half-made. */
  async #make(sha: string): Promise<string | null> {
    if (existsSync(this.dir)) {
      const whole = ['HEAD', 'objects', 'refs'].every((name) => existsSync(path.join(this.dir, name)));
      return whole ? null : `${this.dir} is not a git repository`;
    }
    const making = `${this.dir}.new`;
    rmSync(making, { recursive: true, force: true });
    mkdirSync(path.dirname(this.dir), { recursive: true });
    const format = sha.length === 64 ? ['--object-format=sha256'] : [];
    // Without a template: hooks and their samples are of no use here.
    const init = ['init', '-q', '--bare', '--template=', ...format, making];
    const made = await this.#git(init, path.dirname(this.dir));
    if (!made.ok) return made.missing ? 'git is not on this host' : made.why;
    renameSync(making, this.dir);
    return null;
  }

  async #fetchRefs(source: Source, refspecs: readonly string[]): Promise<string | null> {
    const args = [
      'fetch',
      '-q',
      '--no-tags',
      '--no-write-fetch-head',
      '--force',
      '--',
      source.url,
      ...refspecs,
    ];
    const done = await this.#git(args, this.dir);
    return done.ok ? null : done.missing ? 'git is not on this host' : done.why;
  }

  async #explain(source: Source, why: string): Promise<string> {
    const remote = await this.#git(['ls-remote', '--', source.url], path.dirname(this.dir));
    if (remote.ok && remote.stdout.trim() === '') return `the repository ${source.url} is empty`;
    if (remote.ok) return `commit ${source.sha} is not in ${source.url}: ${why}`;
    return `fetching from ${source.url}: ${remote.why || why}`;
  }

  /** What a git that was killed left behind. Safe under the fetch guard alone: nobody else writes here. */
  #clearStaleLocks(): void {
    for (const folder of ['.', 'refs', 'objects/info', 'objects/pack']) {
      const deep = folder === 'refs';
      const at = path.join(this.dir, folder);
      if (!existsSync(at)) continue;
      for (const name of readdirSync(at, { recursive: deep, encoding: 'utf8' })) {
        if (name.endsWith('.lock') || path.basename(name).startsWith('tmp_'))
          rmSync(path.join(at, name), { force: true });
      }
    }
  }
}
