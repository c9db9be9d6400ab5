import { execFileSync } from 'node:child_process';
import { GitRepository } from '../git-repository.ts';

/** A bare repository, and a working tree whose commits are pushed to it at once. */
export class PushedRepository {
  readonly work: GitRepository;
  readonly #bare: string;

  constructor(bare: string, work: string) {
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', bare]);
    this.#bare = bare;
    this.work = new GitRepository(work);
  }

  /** Commits these files on the branch that is checked out; gives the commit. */
  push(files: Readonly<Record<string, string>>, ref = 'refs/heads/main'): string {
    const sha = this.work.commit(files);
    this.work.git('push', '-q', this.#bare, `+HEAD:${ref}`);
    return sha;
  }
}
