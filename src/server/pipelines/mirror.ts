import { access, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { savedCheckoutName } from '../../shared/dir-layout.ts';
import { oneLine, VoleError } from '../../shared/errors.ts';
import { withoutPasswords } from '../../shared/without-passwords.ts';
import type { Git, GitReply } from './git.ts';

/** A commit, and the full name of what was asked for: `refs/heads/main`, or the commit's own hash. */
export interface ResolvedRef {
  readonly ref: string;
  readonly sha: string;
}

export interface Commit {
  readonly sha: string;
  /** Branches and tags of the mirror that stand at it since the last fetch, in full. */
  readonly refs: readonly string[];
  /** The whole of it. */
  readonly message: string;
}

export type Read = { found: true; text: string } | { found: false; why: 'absent' | 'too-big' | 'no-file' };

const FETCH_MS = 10 * 60_000;
const LOCAL_MS = 60_000;
const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * The server's bare copy of one repository, from which workflow files are read. Named by repository
 * and clone URL, so a repository that moves gets a new one. Whoever uses it sees to it that one
 * operation runs at a time (see `Pipelines`).
 */
export class Mirror {
  readonly dir: string;
  readonly url: string;
  readonly #repository: string;
  readonly #git: Git;

  constructor(mirrorsDir: string, repository: { name: string; cloneUrl: string }, git: Git) {
    this.dir = path.join(
      mirrorsDir,
      `${savedCheckoutName(repository.name, 'trusted', repository.cloneUrl)}.git`,
    );
    this.#repository = repository.name;
    this.url = repository.cloneUrl;
    this.#git = git;
  }

  /** Any other git in the copy. Inside a turn of `Mirrors`, as everything here. */
  run(args: readonly string[], options: Omit<Parameters<Git>[1], 'cwd'>): Promise<GitReply> {
    return this.#git(args, { ...options, cwd: this.dir });
  }

  async remove(): Promise<void> {
    for (const dir of [this.dir, `${this.dir}.publish`]) await rm(dir, { recursive: true, force: true });
  }

  /** Brings branches and tags up to date. Throws what a person can act on. */
  async fetch(): Promise<void> {
    await this.#make();
    const heads = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'];
    const reply = await this.#remote([
      'fetch',
      '--quiet',
      '--prune',
      '--no-write-fetch-head',
      // a clone that is shallow itself is a source as good as any
      '--update-shallow',
      '--',
      this.url,
      ...heads,
    ]);
    if (!reply.ok) throw this.#unreachable(reply.why);
  }

  /** The commit of a branch, tag, full ref or hash; null takes the remote's default branch. */
  async resolve(ref: string | null): Promise<ResolvedRef> {
    if (ref === null) return this.#defaultBranch();
    for (const candidate of candidates(ref)) {
      const sha = await this.#commitOf(candidate);
      if (sha !== null) return { ref: candidate.startsWith('refs/') ? candidate : sha, sha };
    }
    const asked = await this.#fetchNamed(ref);
    if (asked !== null) return asked;
    if (await this.#isEmpty()) throw this.#empty();
    throw new VoleError('not-found', `${this.#repository} has no branch, tag or commit \`${ref}\``);
  }

  /** A file at a commit, its size known before it is read. */
  async read(sha: string, file: string, maxBytes: number): Promise<Read> {
    const cwd = this.dir;
    const listed = await this.#git(['ls-tree', '-l', '-z', sha, '--', file], { cwd, timeoutMs: LOCAL_MS });
    if (!listed.ok)
      throw new VoleError('io-error', `cannot read ${file} of ${this.#repository}: ${listed.why}`);
    if (listed.stdout === '') return { found: false, why: 'absent' };
    const entry = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t/.exec(listed.stdout);
    const [, mode = '', type = '', hash = '', size = ''] = entry ?? [];
    if (type !== 'blob' || mode === '120000') return { found: false, why: 'no-file' };
    if (Number(size) > maxBytes) return { found: false, why: 'too-big' };
    const blob = await this.#git(['cat-file', 'blob', hash], {
      cwd,
      timeoutMs: LOCAL_MS,
      maxBytes: maxBytes + 1024,
    });
    if (!blob.ok) throw new VoleError('io-error', `cannot read ${file} of ${this.#repository}: ${blob.why}`);
    return { found: true, text: blob.stdout };
  }

  /** First line of the commit's message, bounded. */
  async subject(sha: string): Promise<string> {
    const args = ['log', '-1', '--no-show-signature', '--format=%s', sha, '--'];
    const reply = await this.#git(args, { cwd: this.dir, timeoutMs: LOCAL_MS });
    return reply.ok ? reply.stdout.trim().slice(0, 200) : '';
  }

  /** The commit of this hash, or of the tag object of this hash; null where the repository has it no more. */
  async commit(hash: string): Promise<Commit | null> {
    const there = await this.#describe(hash);
    if (there !== null) return there;
    return (await this.#fetchNamed(hash)) === null ? null : this.#describe(hash);
  }

  /** The commit that a ref which is neither branch nor tag stands at now, fetched; null where there is none. */
  async fetchHead(ref: string): Promise<string | null> {
    return (await this.#fetchNamed(ref))?.sha ?? null;
  }

  /** The commit that a ref of the mirror stands at since the last fetch, or null. */
  async head(ref: string): Promise<string | null> {
    return this.#commitOf(ref);
  }

  /** Files that differ between two commits; null where that cannot be said, or the list is too long. */
  async changedFiles(from: string, to: string): Promise<readonly string[] | null> {
    const args = ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', from, to, '--'];
    const reply = await this.#git(args, { cwd: this.dir, timeoutMs: LOCAL_MS, maxBytes: 4 * 1024 * 1024 });
    return reply.ok ? reply.stdout.split('\0').filter((file) => file !== '') : null;
  }

  async mergeBase(one: string, other: string): Promise<string | null> {
    const reply = await this.#git(['merge-base', one, other], { cwd: this.dir, timeoutMs: LOCAL_MS });
    const sha = reply.stdout.trim();
    return reply.ok && HASH.test(sha) ? sha : null;
  }

  /** Where a branch left all others: the parent of the first commit that it alone has. Null where there is none. */
  async forkPoint(branch: string, sha: string): Promise<string | null> {
    const name = branch.replace(/^refs\/heads\//, '');
    const args = ['rev-list', '--topo-order', '--reverse', sha, '--not', `--exclude=${name}`, '--branches'];
    const reply = await this.#git(args, { cwd: this.dir, timeoutMs: LOCAL_MS });
    const first = reply.stdout.split('\n', 1)[0] ?? '';
    return reply.ok && HASH.test(first) ? this.#commitOf(`${first}^`) : null;
  }

  /** Whether a branch or tag of the repository holds this commit, or its HEAD is it. */
  async isPublished(sha: string): Promise<boolean> {
    const args = ['for-each-ref', '--count=1', `--contains=${sha}`, 'refs/heads', 'refs/tags'];
    const reply = await this.#git(args, { cwd: this.dir, timeoutMs: LOCAL_MS });
    if (reply.ok && reply.stdout.trim() !== '') return true;
    const head = await this.#remote(['ls-remote', '--', this.url, 'HEAD']);
    return head.ok && headOf(head.stdout) === sha;
  }

  /** Whether a branch holds it, since the last fetch. */
  async isOnBranch(sha: string): Promise<boolean> {
    const args = ['for-each-ref', '--count=1', `--contains=${sha}`, 'refs/heads'];
    const reply = await this.#git(args, { cwd: this.dir, timeoutMs: LOCAL_MS });
    return reply.ok && reply.stdout.trim() !== '';
  }

  /** Its name without `refs/heads/`. Throws where there is none. */
  async defaultBranch(): Promise<string> {
    const { ref } = await this.#defaultBranch();
    return ref.replace(/^refs\/heads\//, '');
  }

  /** Made beside its place and renamed, so that one that is there is whole. */
  async #make(): Promise<void> {
    if (
      await access(this.dir).then(
        () => true,
        () => false,
      )
    )
      return;
    const making = `${this.dir}.new`;
    try {
      await rm(making, { recursive: true, force: true });
      await mkdir(making, { recursive: true });
      const reply = await this.#git(['init', '--quiet', '--bare', '--template=', '.'], {
        cwd: making,
        timeoutMs: LOCAL_MS,
      });
      if (!reply.ok) throw new VoleError('io-error', `cannot make ${this.dir}: ${reply.why}`);
      await rename(making, this.dir);
    } catch (error) {
      if (error instanceof VoleError) throw error;
      throw new VoleError('io-error', `cannot make ${this.dir}: ${oneLine(error)}`, { cause: error });
    }
  }

  async #defaultBranch(): Promise<ResolvedRef> {
    const reply = await this.#remote(['ls-remote', '--symref', '--', this.url, 'HEAD']);
    if (!reply.ok) throw this.#unreachable(reply.why);
    const ref = /^ref: (refs\/\S+)\tHEAD$/m.exec(reply.stdout)?.[1];
    const sha = headOf(reply.stdout);
    if (sha === null) {
      if (await this.#isEmpty()) throw this.#empty();
      throw new VoleError('not-found', `${this.#repository} has no default branch: name one with --ref`);
    }
    const commit =
      (ref === undefined ? null : await this.#commitOf(ref)) ??
      (await this.#commitOf(sha)) ??
      (await this.#fetchNamed(sha))?.sha;
    if (commit === undefined)
      throw new VoleError('not-found', `${this.#repository} has no commit at its HEAD`);
    return { ref: ref ?? commit, sha: commit };
  }

  /** The commit that an annotated tag stands for, a commit itself, or null. */
  async #commitOf(name: string): Promise<string | null> {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
    const reply = await this.#git(args, { cwd: this.dir, timeoutMs: LOCAL_MS });
    const sha = reply.stdout.trim();
    return reply.ok && HASH.test(sha) ? sha : null;
  }

  /** By one program: starting one holds the event loop up. */
  async #describe(hash: string): Promise<Commit | null> {
    // named here, since a person's own git settings may hide some
    const refs = ['--decorate=full', '--decorate-refs=refs/heads', '--decorate-refs=refs/tags'];
    const shown = ['--no-show-signature', ...refs, '--format=%H%n%D%n%B'];
    const args = ['log', '-1', ...shown, `${hash}^{commit}`, '--'];
    const options = { cwd: this.dir, timeoutMs: LOCAL_MS, maxBytes: 8 * 1024 * 1024 };
    const reply = await this.#git(args, options);
    const [sha = '', at = ''] = reply.stdout.split('\n', 2);
    if (!reply.ok || !HASH.test(sha)) return null;
    return {
      sha,
      refs: at.split(', ').map((ref) => ref.replace(/^(?:tag: |HEAD -> )/, '')),
      message: reply.stdout.slice(sha.length + at.length + 2),
    };
  }

  /** What is neither branch nor tag: a change's head under `refs/pull/`, or a commit only it reaches. */
  async #fetchNamed(ref: string): Promise<ResolvedRef | null> {
    if (!ref.startsWith('refs/') && !HASH.test(ref)) return null;
    const target = `refs/vole/${ref.startsWith('refs/') ? ref.slice('refs/'.length) : ref}`;
    const args = [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      '--update-shallow',
      '--',
      this.url,
      `+${ref}:${target}`,
    ];
    if (!(await this.#remote(args)).ok) return null;
    const sha = await this.#commitOf(target);
    return sha === null ? null : { ref: ref.startsWith('refs/') ? ref : sha, sha };
  }

  async #isEmpty(): Promise<boolean> {
    const args = ['for-each-ref', '--count=1'];
    const reply = await this.#git(args, { cwd: this.dir, timeoutMs: LOCAL_MS });
    return reply.ok && reply.stdout.trim() === '';
  }

  #remote(args: readonly string[]) {
    return this.#git(args, { cwd: this.dir, timeoutMs: FETCH_MS, maxBytes: 16 * 1024 * 1024 });
  }

  #empty(): VoleError {
    return new VoleError('not-found', `${this.#repository} is empty: it has no commit yet`);
  }

  #unreachable(why: string): VoleError {
    const where = withoutPasswords(this.url);
    return new VoleError('server-unreachable', `cannot fetch ${this.#repository} from ${where}: ${why}`);
  }
}

/** The commit at HEAD in what `ls-remote` prints; null where there is none. */
function headOf(listed: string): string | null {
  return /^([0-9a-f]{40,64})\tHEAD$/m.exec(listed)?.[1] ?? null;
}

/** Names under which a ref may be meant, in the order tried. */
export function candidates(ref: string): string[] {
  if (ref.startsWith('refs/')) return [ref];
  if (HASH.test(ref)) return [ref];
  const names = [`refs/heads/${ref}`, `refs/tags/${ref}`];
  return /^[0-9a-f]{7,64}$/.test(ref) ? [...names, ref] : names;
}
