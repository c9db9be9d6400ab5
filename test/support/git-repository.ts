import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const ENV = {
  PATH: process.env['PATH'] ?? '/usr/bin:/bin',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
};

/** A repository made by the real git, for a checkout to fetch from. */
export class GitRepository {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
    mkdirSync(dir, { recursive: true });
    this.git('init', '-q', '-b', 'main');
  }

  get url(): string {
    return `file://${this.dir}`;
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.dir, env: ENV, encoding: 'utf8' }).trim();
  }

  /** Writes a commit object as it is, also one that git would not make; gives its hash. */
  hash(commit: string): string {
    const args = ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'];
    return execFileSync('git', args, { cwd: this.dir, env: ENV, encoding: 'utf8', input: commit }).trim();
  }

  /** Commits these files on the branch that is checked out; gives the commit. */
  commit(files: Readonly<Record<string, string | Buffer>>, message = 'c'): string {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(this.dir, name)), { recursive: true });
      writeFileSync(path.join(this.dir, name), content);
    }
    this.git('add', '-A');
    this.git('commit', '-q', '--allow-empty', '-m', message);
    return this.git('rev-parse', 'HEAD');
  }
}
