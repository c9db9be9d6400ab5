import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiPipeline } from '../../src/shared/api.ts';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';
import { VoleProcess } from '../support/vole-process.ts';

let cleanup: Cleanup;
let root: string;
let folder: string;

beforeEach(() => {
  cleanup = new Cleanup();
  root = cleanup.tempDir('vole-run-e2e-');
  folder = path.join(root, 'app');
  for (const name of ['app', 'tmp']) mkdirSync(path.join(root, name));
});
afterEach(() => cleanup.run());

/** Everything it makes outside `--dir` is in a TMPDIR of the test's own. */
function start(args: string[] = [], env: Record<string, string> = {}, within = '.'): VoleProcess {
  const all = ['run', '--dir', path.join(root, 'dir'), ...args];
  return startVole(all, env, within);
}

function startVole(args: string[], env: Record<string, string> = {}, within = '.'): VoleProcess {
  const tmp = path.join(root, 'tmp');
  const cwd = path.join(folder, within);
  const running = new VoleProcess(args, { cwd, env: { TMPDIR: tmp, ...env } });
  cleanup.defer(() => running.destroy());
  return running;
}

async function run(args: string[] = [], env: Record<string, string> = {}, within = '.') {
  const running = start(args, env, within);
  const { code } = await running.ended;
  return { code, out: running.stdout, err: running.stderr };
}

function git(...args: string[]): string {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid'];
  return execFileSync('git', ['-C', folder, ...who, ...args], { stdio: 'pipe' })
    .toString()
    .trim();
}

function write(name: string, text: string): void {
  writeFileSync(path.join(folder, name), text);
}

function workflow(jobs: Record<string, string>): void {
  const texts = Object.entries(jobs).map(
    ([name, step]) =>
      `  ${name}:\n    env: {RIG: ${root}}\n    steps:\n      - run: ${JSON.stringify(step)}\n`,
  );
  write('.vole.yml', `on: [push]\njobs:\n${texts.join('')}`);
}

function commit(): void {
  if (!existsSync(path.join(folder, '.git'))) git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-q', '-m', 'change');
}

const filesOf = (where: string) => new Set(readdirSync(where, { recursive: true, encoding: 'utf8' }));
const ours = () => processesWithEnv('RIG', root);

/** No process of a job, no tree, no temporary file. */
function expectNothingLeft(): void {
  expect(ours()).toEqual([]);
  expect(readdirSync(path.join(root, 'tmp'))).toEqual([]);
  for (const name of ['jobs', 'trash']) expect(readdirSync(path.join(root, 'dir', name))).toEqual([]);
}

describe('vole run in a git checkout', () => {
  it('runs HEAD in plain lines with the job before each, and a table', async () => {
    workflow({ a: 'cat f', b: 'echo two' });
    write('f', 'committed\n');
    commit();
    const { code, out, err } = await run();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('a | committed\n');
    expect(out).toMatch(/✓ a +passed +\d+\.\ds\n✓ b +passed/);
    expect(out).not.toContain('\u001b');
    expectNothingLeft();
  });

  it('says that changes which are not committed are no part of it', async () => {
    workflow({ a: 'cat f' });
    write('f', 'committed\n');
    commit();
    write('f', 'changed\n');
    const { code, out, err } = await run();
    expect(code).toBe(0);
    expect(out).toContain('a | committed\n');
    expect(err).toMatch(/^vole: running the commit [0-9a-f]{12}: .*not committed.*\n$/);
  });

  it('runs what --ref names, and says which it does not find', async () => {
    workflow({ a: 'echo old' });
    commit();
    git('tag', 'v1');
    workflow({ a: 'echo new' });
    commit();
    expect((await run(['--ref', 'v1'])).out).toContain('a | old\n');
    expect((await run()).out).toContain('a | new\n');
    const { code, err } = await run(['--ref', 'v2']);
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: no commit v2 in .*app\n$/);
  });

  it('says that the workflow is not committed', async () => {
    write('f', '');
    commit();
    workflow({ a: 'true' });
    const { code, err } = await run();
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: no \.vole\.yml in .*not committed.*\n$/);
  });
});

describe('vole run in a folder within the repository', () => {
  beforeEach(() => mkdirSync(path.join(folder, 'a', 'b'), { recursive: true }));

  it('runs the workflow of the repository, not one that lies there, and says so', async () => {
    workflow({ top: 'pwd' });
    write('a/b/.vole.yml', 'jobs: {within: {steps: [{run: "true"}]}}\n');
    commit();
    const { code, out, err } = await run([], {}, 'a/b');
    expect({ code, err }).toEqual({ code: 0, err: 'vole: the workflow file is ../../.vole.yml\n' });
    expect(out).toMatch(/✓ top .*\n$/);
  });

  it('says of a fault what vole lint says there, of the same file', async () => {
    write('.vole.yml', 'jobs:\n  a: {stpes: []}\n  b: {steps: [{run: x, working-directory: a/../..}]}\n');
    write('a/b/.vole.yml', 'jobs: {within: {steps: [{run: "true"}]}}\n');
    for (const committed of [false, true]) {
      if (committed) commit();
      const within = committed ? 'a/b' : '.';
      const linting = startVole(['lint'], {}, within);
      const { code } = await linting.ended;
      expect(code).toBe(65);
      const { err } = await run([], {}, within);
      const faults = err.split('\n').filter((line) => /\.vole\.yml:\d/.test(line));
      expect(faults.map((line) => `${line.replace(/^vole: /, '')}\n`).join('')).toBe(linting.stderr);
      expect(linting.stderr).toContain(committed ? '../../.vole.yml:2:7: ' : '.vole.yml:2:7: ');
    }
  });

  it('says that the one there is not the one of the repository', async () => {
    write('a/b/.vole.yml', 'jobs: {within: {steps: [{run: "true"}]}}\n');
    commit();
    const { code, err } = await run([], {}, 'a/b');
    expect(code).toBe(66);
    expect(err).toMatch(
      /^vole: no \.vole\.yml in .*app at [0-9a-f]{12}: the one in .*a\/b is not at the top of the repository; .*\n$/,
    );
  });
});

describe('vole run where there is no commit', () => {
  it('says that git ignores the workflow, which it would not commit', async () => {
    workflow({ here: 'true' });
    write('.gitignore', '*\n');
    const { code, err } = await run();
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: no .vole.yml to run in .*app: git ignores the one in the folder; .*\n$/);
  });

  it('does not call the hooks that a person has for commits', async () => {
    workflow({ here: 'true' });
    const hooks = path.join(root, 'hooks');
    mkdirSync(hooks);
    writeFileSync(path.join(hooks, 'prepare-commit-msg'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const home = path.join(root, 'home');
    mkdirSync(home);
    writeFileSync(path.join(home, '.gitconfig'), `[core]\n\thooksPath = ${hooks}\n`);
    expect((await run([], { HOME: home })).code).toBe(0);
  });

  it.each(['a plain folder', 'an unborn repository'])(
    'runs the files of %s and writes nothing there',
    async (kind) => {
      if (kind !== 'a plain folder') execFileSync('git', ['init', '-q', folder]);
      workflow({ a: 'cat f' });
      write('f', 'as it is\n');
      const before = filesOf(folder);
      const { code, out, err } = await run();
      expect(code).toBe(0);
      expect(out).toContain('a | as it is\n');
      expect(err).toBe('vole: no commit here: running the files as they are\n');
      expect(filesOf(folder)).toEqual(before);
      expectNothingLeft();
      expect(readdirSync(path.join(root, 'dir', 'git'))).toEqual([]);
    },
  );
});

describe('vole run with nothing to run', () => {
  it('says in one line what to write where there is no workflow', async () => {
    const { code, err } = await run();
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: no \.vole\.yml in .*write one.*vole run --help.*\n$/);
  });

  it('names file, line and column of a fault', async () => {
    write('.vole.yml', 'on: [push]\njobs:\n  a:\n    stps: []\n');
    commit();
    const { code, err } = await run();
    expect(code).toBe(65);
    expect(err).toMatch(/^vole: \.vole\.yml:4:5: /m);
  });

  it('names a job that is not there, and those that are', async () => {
    workflow({ a: 'true', b: 'true' });
    commit();
    const { code, err } = await run(['c']);
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: .*`c`.*a, b\n$/);
  });

  it('says in one line that its directory cannot be made, and ends', async () => {
    workflow({ a: 'true' });
    commit();
    const running = new VoleProcess(['run'], {
      cwd: folder,
      env: { HOME: '/dev/null', XDG_CACHE_HOME: '', TMPDIR: path.join(root, 'tmp') },
    });
    cleanup.defer(() => running.destroy());
    expect((await running.ended).code).toBe(74);
    expect(running.stderr).toMatch(/^vole: --dir \/dev\/null\/\.cache\/vole cannot be used: .*\n$/);
  });
});

describe('vole run with jobs', () => {
  it('ends with 1 where one fails, shows its output and says why in the table', async () => {
    workflow({ good: 'true', bad: 'echo reason >&2; exit 3' });
    commit();
    const { code, out } = await run(['--jobs', '2']);
    expect(code).toBe(1);
    expect(out).toContain('bad  | reason\n');
    expect(out).toMatch(/✗ bad +failed .*exit code 3/);
    expect(out).toMatch(/✓ good +passed/);
  });

  it('runs jobs that ask for another host, saying so, since there is none to wait for', async () => {
    write(
      '.vole.yml',
      'on: [push]\njobs:\n  a: {labels: [linux, gpu], steps: [{run: "true"}]}\n  b: {cpus: 4000, memory: 900TiB, steps: [{run: "true"}]}\n',
    );
    commit();
    const { code, out, err } = await run();
    expect(code).toBe(0);
    expect(out).toMatch(/✓ a .*\n✓ b .*\n$/);
    expect(err).toMatch(
      /^vole: labels are not looked at here: linux, gpu\nvole: b wants more than this host has \(\d+ cores and [\d.]+ GiB\), and runs alone\n$/,
    );
  });

  it('runs those that were named and what they need', async () => {
    write(
      '.vole.yml',
      'on: [push]\njobs:\n  a: {steps: [{run: "true"}]}\n  b: {needs: [a], steps: [{run: "true"}]}\n  c: {steps: [{run: "false"}]}\n',
    );
    commit();
    const { code, out } = await run(['b']);
    expect(code).toBe(0);
    expect(out).toMatch(/✓ a .*\n✓ b .*\n$/);
  });

  it('runs one entry of a matrix by the name that its table shows', async () => {
    const test =
      '{needs: [a], name: "on ${{ matrix.n }}", strategy: {matrix: {n: [20, 22]}}, steps: [{run: "true"}]}';
    write('.vole.yml', `jobs:\n  a: {steps: [{run: "true"}]}\n  test: ${test}\n`);
    commit();
    const one = await run(['on 22']);
    expect(one.code).toBe(0);
    expect(one.out).toMatch(/✓ a .*\n✓ on 22 .*\n$/);
    expect((await run(['test'])).out).toMatch(/✓ a .*\n✓ on 20 .*\n✓ on 22 .*\n$/);
    const { code, err } = await run(['on22']);
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: .* has no job `on22` \(is `on 22` meant\?\); it has a, test\n$/);
  });

  it('prints JSON for a program and the output to standard error with --json', async () => {
    workflow({ a: 'echo said; exit 4' });
    commit();
    const { code, out, err } = await run(['--json']);
    expect(code).toBe(1);
    const pipeline = JSON.parse(out) as ApiPipeline;
    expect(pipeline.runs).toMatchObject([{ job: 'a', state: 'failed', reason: 'exit' }]);
    expect(err).toContain('a | said\n');
  });

  it('keeps the cache for the next run, and none of it with --no-cache', async () => {
    workflow({ a: 'ls $VOLE_CACHE; touch $VOLE_CACHE/kept' });
    commit();
    expect((await run()).out).not.toContain('a | kept');
    expect((await run()).out).toContain('a | kept\n');
    expect((await run(['--no-cache'])).out).not.toContain('a | kept');
    expect((await run()).out).not.toContain('a | kept');
  });

  it('shares its directory and repository with another one at the same time', async () => {
    const gate = path.join(root, 'go');
    workflow({ a: `echo $$ > mark; echo up; until [ -e ${gate} ]; do sleep 0.02; done; ls -A | wc -l` });
    commit();
    const both = [start(), start()];
    for (const one of both) await one.says(/a \| up/);
    writeFileSync(gate, '');
    for (const one of both) {
      expect((await one.ended).code).toBe(0);
      expect(one.stdout).toContain('a | 3\n');
    }
    expectNothingLeft();
  });
});

describe('vole run that is interrupted', () => {
  const slow = "trap 'sleep 0.3; echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done";
  const deaf = "trap '' TERM; sleep 999 & echo up; while :; do sleep 0.1; done";

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s ends its jobs with their grace',
    async (signal) => {
      workflow({ a: slow, b: 'echo never' });
      commit();
      const running = start();
      await running.says(/a \| up/);
      running.kill(signal);
      expect((await running.ended).code).toBe(130);
      expect(running.stdout).toContain('a | bye\n');
      expect(running.stdout).toMatch(/- a +cancelled.*\n- b +cancelled/);
      expectNothingLeft();
    },
  );

  it('twice kills its jobs', async () => {
    workflow({ a: deaf });
    commit();
    const running = start(['--kill-grace', '600']);
    await running.says(/a \| up/);
    running.kill('SIGINT');
    await running.says(/once more/);
    await new Promise((resolve) => setTimeout(resolve, 350)); // sooner it is the same key
    running.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    expect(running.stdout).toMatch(/- a +cancelled/);
    expectNothingLeft();
  });

  it('by a reader that goes away ends its jobs', async () => {
    workflow({ a: 'echo up; while :; do echo more; sleep 0.05; done', b: 'true' });
    commit();
    const running = start();
    await running.says(/a \| up/);
    running.child.stdout?.destroy();
    expect((await running.ended).code).toBe(141);
    expectNothingLeft();
  });

  it('by a kill leaves temporary files, which the next one removes, and not those of one that runs', async () => {
    workflow({ a: deaf, b: 'true' });
    commit();
    const temporary = () => readdirSync(path.join(root, 'tmp'));
    const killed = start(['a']);
    await killed.says(/a \| up/);
    killed.kill('SIGKILL');
    await killed.ended;
    const left = temporary();
    expect(left).toHaveLength(1);
    const living = start(['a']);
    await living.says(/a \| up/);
    const own = temporary();
    expect(own).toHaveLength(1);
    expect(own).not.toEqual(left);
    expect((await run(['b'])).code).toBe(0);
    expect(temporary()).toEqual(own);
    living.kill('SIGTERM');
    await living.ended;
    expectNothingLeft();
  });

  it('in its first moments leaves no temporary file', async () => {
    workflow({ a: deaf });
    commit();
    const running = start();
    await until('its scratch folder', () => readdirSync(path.join(root, 'tmp')).length > 0);
    running.kill('SIGTERM');
    expect((await running.ended).code).toBe(130);
    expect(ours()).toEqual([]);
    expect(readdirSync(path.join(root, 'tmp'))).toEqual([]);
    rmSync(path.join(root, 'dir'), { recursive: true, force: true });
  });
});
