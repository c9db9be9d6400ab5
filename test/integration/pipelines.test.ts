import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { complaintOf, gitWith } from '../../src/server/pipelines/git.ts';
import { Mirror } from '../../src/server/pipelines/mirror.ts';
import { Mirrors } from '../../src/server/pipelines/mirrors.ts';
import { Pipelines, type Submit } from '../../src/server/pipelines/pipelines.ts';
import type { NewPipeline, Repository, Store } from '../../src/server/store/store.ts';
import { withoutPasswords } from '../../src/shared/without-passwords.ts';
import { Cleanup } from '../support/temp.ts';

const WORKFLOW = `on: push
jobs:
  lint: {steps: [{run: "true"}]}
  test: {needs: [lint], steps: [{run: "true"}], strategy: {matrix: {node: [20, 22]}}}
  docs: {steps: [{run: "true"}]}
`;

/** As a hook would have it: git must not look there. */
const git = gitWith({ ...process.env, GIT_DIR: '/nowhere', GIT_WORK_TREE: '/nowhere' });

let cleanup: Cleanup;
let root: string;
let source: string;
let created: NewPipeline[];
let pipelines: Pipelines;
let mirrors: Mirrors;
let repository: Repository;

function run(...args: string[]): string {
  return execFileSync('git', ['-C', source, ...args], { stdio: 'pipe' })
    .toString()
    .trim();
}

function commit(file: string, text: string): string {
  writeFileSync(path.join(source, file), text);
  run('add', '-A');
  run('commit', '-q', '--allow-empty', '-m', `change ${file}`);
  return run('rev-parse', 'HEAD');
}

function submit(change: Partial<Submit> = {}) {
  return pipelines.submit({ repository: 'team/app', ref: null, jobs: [], ...change });
}

beforeEach(() => {
  cleanup = new Cleanup();
  root = cleanup.tempDir('vole-pipelines-');
  source = path.join(root, 'source');
  mkdirSync(source);
  run('init', '-q', '-b', 'main');
  run('config', 'user.name', 't');
  run('config', 'user.email', 't@example.invalid');
  created = [];
  repository = { name: 'team/app', cloneUrl: source, maxJobs: null, forge: null, addedAt: 0 };
  const store = {
    repositories: { get: async (name: string) => (name === repository.name ? repository : null) },
    runs: {
      createPipeline: async (pipeline: NewPipeline) => {
        created.push(pipeline);
        return { pipeline: created.length, runs: pipeline.runs.map((_, index) => index + 1) };
      },
    },
  } as unknown as Pick<Store, 'repositories' | 'runs'>;
  mirrors = new Mirrors(path.join(root, 'mirrors'), git);
  pipelines = new Pipelines(store, mirrors);
  cleanup.defer(() => mirrors.close());
});

afterEach(async () => cleanup.run());

describe('a pipeline from a commit', () => {
  it('of the default branch queues the jobs of the workflow file there', async () => {
    const sha = commit('.vole.yml', WORKFLOW);
    await expect(submit()).resolves.toEqual({ pipeline: 1, runs: [1, 2, 3, 4], fault: null });
    expect(created[0]).toMatchObject({
      repository: 'team/app',
      event: 'manual',
      ref: 'refs/heads/main',
      sha,
      trust: 'trusted',
      title: 'change .vole.yml',
      fault: null,
    });
    expect(created[0]?.runs.map((run) => run.key)).toEqual(['lint', 'test (20)', 'test (22)', 'docs']);
    expect(created[0]?.runs[0]?.spec?.source).toEqual({
      url: source,
      ref: 'refs/heads/main',
      sha,
      submodules: false,
    });
  });

  it('takes the named jobs and what they need', async () => {
    commit('.vole.yml', WORKFLOW);
    await submit({ jobs: ['test'] });
    expect(created[0]?.runs.map((run) => run.key)).toEqual(['lint', 'test (20)', 'test (22)']);
    await submit({ jobs: ['test (22)'] });
    expect(created[1]?.runs.map(({ key, needs }) => [key, needs])).toEqual([
      ['lint', []],
      ['test (22)', ['lint']],
    ]);
    await expect(submit({ jobs: ['tset'] })).rejects.toMatchObject({
      code: 'not-found',
      message: '.vole.yml of team/app has no job `tset` (is `test` meant?); it has lint, test, docs',
    });
  });

  it('finds branches with odd names, annotated tags, full refs, and commits long and short', async () => {
    const first = commit('.vole.yml', WORKFLOW);
    run('branch', 'feature/ü#%2F');
    run('tag', '-a', '-m', 'a tag', 'v1.0');
    const second = commit('other', 'x');
    const expected: [string, string, string][] = [
      ['feature/ü#%2F', 'refs/heads/feature/ü#%2F', first],
      ['v1.0', 'refs/tags/v1.0', first],
      ['refs/tags/v1.0', 'refs/tags/v1.0', first],
      ['main', 'refs/heads/main', second],
      [first, first, first],
      [first.slice(0, 10), first, first],
    ];
    for (const [asked, ref, sha] of expected) {
      await submit({ ref: asked });
      expect(created.at(-1)).toMatchObject({ ref, sha, trust: 'trusted' });
    }
  });

  it('sees what was pushed, moved and removed since the last one', async () => {
    commit('.vole.yml', WORKFLOW);
    run('branch', 'topic');
    await submit({ ref: 'topic' });
    run('branch', '-D', 'topic');
    await expect(submit({ ref: 'topic' })).rejects.toMatchObject({ code: 'not-found' });
    run('branch', 'topic/under'); // a folder now where a branch was
    run('commit', '-q', '--amend', '-m', 'rewritten');
    await submit({ ref: 'topic/under' });
    await submit();
    expect(created.at(-1)?.title).toBe('rewritten');
  });

  it("of a change's ref, or of a commit that only it reaches, is not trusted", async () => {
    commit('.vole.yml', WORKFLOW);
    run('checkout', '-q', '-b', 'change');
    const sha = commit('evil', 'x');
    run('update-ref', 'refs/pull/12/head', sha);
    run('checkout', '-q', 'main');
    run('branch', '-D', 'change');
    await submit({ ref: 'refs/pull/12/head' });
    expect(created.at(-1)).toMatchObject({ ref: 'refs/pull/12/head', sha, trust: 'untrusted' });
    await submit({ ref: sha });
    expect(created.at(-1)).toMatchObject({ sha, trust: 'untrusted' });
  });

  it('of what a checkout has at its detached HEAD is trusted, also where that is a shallow clone', async () => {
    commit('.vole.yml', WORKFLOW);
    commit('other', 'x');
    const shallow = path.join(root, 'shallow');
    execFileSync('git', ['clone', '-q', '--depth=1', `file://${source}`, shallow], { stdio: 'pipe' });
    source = shallow;
    run('config', 'user.name', 't');
    run('config', 'user.email', 't@example.invalid');
    run('checkout', '-q', '--detach');
    const sha = commit('more', 'x');
    repository = { ...repository, cloneUrl: shallow };
    await submit({ ref: sha });
    expect(created.at(-1)).toMatchObject({ sha, trust: 'trusted' });
    await submit();
    expect(created.at(-1)).toMatchObject({ ref: sha, sha, trust: 'trusted' });
  });

  it('of a file with faults of several kinds says them all', async () => {
    commit('.vole.yml', 'jobs:\n  a: {stpes: []}\n  b: {needs: c, steps: [{run: "${{ github.sha }}"}]}\n');
    expect((await submit()).fault?.split('\n')).toEqual([
      '.vole.yml:2:7: the key `stpes` is not known here; is `steps` meant?',
      '.vole.yml:3:14: `needs`: there is no job `c`',
      expect.stringMatching(/^\.vole\.yml:3:31: `\$\{\{ github\.sha }}` is not known; /),
    ]);
  });

  it('of a file with faults is kept as a failed one that says where', async () => {
    commit('.vole.yml', 'on: push\njobs:\n  a:\n    stepz: []\n');
    const { fault, runs } = await submit();
    expect(runs).toEqual([]);
    expect(fault).toMatch(/^\.vole\.yml:\d+:\d+: /);
    expect(created[0]).toMatchObject({ fault, runs: [] });
  });

  it('of a file of 2 MB, a link or a folder is a failed one, and nothing else is read', async () => {
    commit('.vole.yml', '#'.repeat(2 * 1024 * 1024));
    expect((await submit()).fault).toContain('over 1 MiB');
    run('rm', '-q', '.vole.yml');
    symlinkSync('/etc/passwd', path.join(source, '.vole.yml'));
    commit('x', '1');
    expect((await submit()).fault).toContain('not a link');
    run('rm', '-q', '.vole.yml');
    mkdirSync(path.join(source, '.vole.yml'));
    commit('.vole.yml/x', '1');
    expect((await submit()).fault).toContain('not a link or a directory');
  });

  it('that cannot be is one line that names what is missing, and nothing is queued', async () => {
    const refused = async (change: Partial<Submit>, code: string, text: string) => {
      const error = await submit(change).then(
        () => null,
        (error: unknown) => error,
      );
      expect(error).toMatchObject({ code, message: expect.stringContaining(text) });
      expect((error as Error).message).not.toContain('\n');
    };
    await refused({}, 'not-found', 'team/app is empty');
    await refused({ ref: 'main' }, 'not-found', 'team/app is empty');
    commit('readme', 'x');
    await refused({}, 'not-found', 'no .vole.yml at');
    await refused({ ref: 'nope' }, 'not-found', 'no branch, tag or commit `nope`');
    await refused({ ref: 'f'.repeat(40) }, 'not-found', 'no branch, tag or commit');
    await refused({ ref: '--upload-pack=touch x' }, 'usage', 'starts with `-`');
    await refused({ repository: 'no/such' }, 'not-found', 'no repository no/such');
    repository = { ...repository, cloneUrl: path.join(root, 'not-there') };
    await refused({}, 'server-unreachable', 'cannot fetch team/app from');
    repository = { ...repository, cloneUrl: 'http://user:pass@127.0.0.1:1/x.git' };
    await refused({}, 'server-unreachable', 'http://127.0.0.1:1/x.git');
    expect(created).toEqual([]);
  });

  it('asked for eight times at once on a cold mirror is made eight times', async () => {
    commit('.vole.yml', WORKFLOW);
    await Promise.all(Array.from({ length: 8 }, () => submit()));
    expect(created).toHaveLength(8);
    expect(readdirSync(path.join(root, 'mirrors'))).toHaveLength(1);
  });

  it('runs no program that a clone URL names', async () => {
    const marker = path.join(root, 'ran');
    repository = { ...repository, cloneUrl: `ext::sh -c "touch ${marker}"` };
    await expect(submit()).rejects.toMatchObject({ code: 'server-unreachable' });
    expect(existsSync(marker)).toBe(false);
  });

  it('has no copy left when the repository is forgotten', async () => {
    commit('.vole.yml', WORKFLOW);
    await submit();
    await mirrors.forget(repository);
    expect(readdirSync(path.join(root, 'mirrors'))).toEqual([]);
  });

  it('waits for nothing once the server closes', async () => {
    commit('.vole.yml', WORKFLOW);
    await mirrors.close();
    await expect(submit()).rejects.toMatchObject({ code: 'interrupted' });
  });
});

describe('a mirror', () => {
  it('half made by a process that was killed is made anew', async () => {
    commit('.vole.yml', WORKFLOW);
    const mirror = new Mirror(path.join(root, 'mirrors'), repository, git);
    mkdirSync(`${mirror.dir}.new/junk`, { recursive: true });
    await mirror.fetch();
    expect(existsSync(`${mirror.dir}.new`)).toBe(false);
    await expect(mirror.resolve('main')).resolves.toMatchObject({ ref: 'refs/heads/main' });
  });
});

describe("git's complaint", () => {
  it('is its first fatal line, without passwords', () => {
    expect(complaintOf("Cloning\nfatal: unable to access 'https://u:p@h/x': no\nfatal: more\n")).toBe(
      "unable to access 'https://h/x': no",
    );
    expect(complaintOf('')).toBe('');
    expect(withoutPasswords('ssh://git:pw@host/x and https://token@h')).toBe('ssh://host/x and https://h');
  });
});
