import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { GitRepository } from '../git-repository.ts';

/** A bare repository, and a working tree whose commits are pushed to it at once. */
export class PushedRepository {
  readonly work: GitRepository;
  readonly bare: string;

  constructor(bare: string, work: string) {
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', bare]);
    this.bare = bare;
    this.work = new GitRepository(work);
  }

  /** Commits these files on the branch that is checked out; gives the commit. */
  push(files: Readonly<Record<string, string>>, ref = 'refs/heads/main'): string {
    const sha = this.work.commit(files);
    this.work.git('push', '-q', this.bare, `+HEAD:${ref}`);
    return sha;
  }

  /** In the bare one. */
  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.bare, encoding: 'utf8' }).trim();
  }

  /** What the branch stands at; null where there is none. */
  head(branch: string): string | null {
    return this.git('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`) || null;
  }

  /** The head of a pull request follows its branch, as on a forge. */
  pull(number: number, branch: string): void {
    this.git('symbolic-ref', `refs/pull/${number}/head`, `refs/heads/${branch}`);
  }

  /** From now on pushes are refused, by a hook that says this. */
  refusePushes(line: string): void {
    this.hook('pre-receive', `echo >&2\necho '${line}' >&2\nexit 1`);
  }

  /** `script` is for sh. */
  hook(name: string, script: string): void {
    writeFileSync(path.join(this.bare, 'hooks', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
}
