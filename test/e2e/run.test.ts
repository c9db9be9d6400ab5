import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiPipeline } from '../../src/shared/api.ts';
import { RunRig } from '../support/run-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';
import { VoleProcess } from '../support/vole-process.ts';

let cleanup: Cleanup;
let rig: RunRig;

beforeEach(() => {
  cleanup = new Cleanup();
  rig = new RunRig(cleanup);
});
afterEach(() => cleanup.run());

const filesOf = (where: string) => new Set(readdirSync(where, { recursive: true, encoding: 'utf8' }));

describe('vole run in a git checkout', () => {
  it('runs HEAD in plain lines with the job before each, and a table', async () => {
    rig.workflow({ a: 'cat f', b: 'echo two' });
    rig.write('f', 'committed\n');
    rig.commit();
    const { code, out, err } = await rig.run();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^a \| fetching [0-9a-f]{12}\na \| step 1: cat f\na \| committed\n/);
    expect(out).toMatch(/✓ a +passed +\d+\.\ds\n✓ b +passed/);
    expect(out).not.toContain('\u001b');
    rig.expectNothingLeft();
  });

  it('says that changes which are not committed are no part of it', async () => {
    rig.workflow({ a: 'cat f' });
    rig.write('f', 'committed\n');
    rig.commit();
    rig.write('f', 'changed\n');
    const { code, out, err } = await rig.run();
    expect(code).toBe(0);
    expect(out).toContain('a | committed\n');
    expect(err).toMatch(/^vole: running the commit [0-9a-f]{12}: .*not committed.*`vole run --dirty`.*\n$/);
  });

  it('runs what --ref names, and says which it does not find', async () => {
    rig.workflow({ a: 'echo old' });
    rig.commit();
    rig.git('tag', 'v1');
    rig.workflow({ a: 'echo new' });
    rig.commit();
    expect((await rig.run(['--ref', 'v1'])).out).toContain('a | old\n');
    expect((await rig.run()).out).toContain('a | new\n');
    const { code, err } = await rig.run(['--ref', 'v2']);
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: no commit v2 in .*app\n$/);
  });

  it.each(['changed', 'staged', 'removed'])(
    'says that a workflow which is %s is not the one that runs',
    async (how) => {
      rig.workflow({ a: 'true' });
      rig.commit();
      rig.workflow({ b: 'true' });
      if (how === 'staged') rig.git('add', '-A');
      if (how === 'removed') rmSync(path.join(rig.folder, '.vole.yml'));
      const { out, err } = await rig.run();
      expect(out).toMatch(/✓ a .*\n$/);
      expect(err).toBe(
        'vole: `.vole.yml` differs from the commit that runs: commit it, or `vole run --dirty` to run the files as they are\n',
      );
    },
  );

  it.each(['new', 'staged'])('says of a workflow that is %s how it can be run', async (how) => {
    rig.write('f', '');
    rig.commit();
    rig.workflow({ a: 'true' });
    if (how === 'staged') rig.git('add', '-A');
    const { code, err } = await rig.run();
    expect(code).toBe(66);
    expect(err).toMatch(
      /^vole: no \.vole\.yml in .*: the one in the folder is not committed: commit it, or `vole run --dirty` .*\n$/,
    );
    expect((await rig.run(['--ref', 'main'])).err).toMatch(/the one in the folder is not in that commit\n$/);
    expect((await rig.run(['--dirty'])).out).toMatch(/✓ a .*\n$/);
  });
});

describe('vole run in a folder within the repository', () => {
  beforeEach(() => mkdirSync(path.join(rig.folder, 'a', 'b'), { recursive: true }));

  it('runs the workflow of the repository, not one that lies there, and says so', async () => {
    rig.workflow({ top: 'pwd' });
    rig.write('a/b/.vole.yml', 'jobs: {within: {steps: [{run: "true"}]}}\n');
    rig.commit();
    const { code, out, err } = await rig.run([], {}, 'a/b');
    expect({ code, err }).toEqual({ code: 0, err: 'vole: the workflow file is ../../.vole.yml\n' });
    expect(out).toMatch(/✓ top .*\n$/);
  });

  it('says of a fault what vole lint says there, of the same file', async () => {
    rig.write('.vole.yml', 'jobs:\n  a: {stpes: []}\n  b: {steps: [{run: x, working-directory: a/../..}]}\n');
    rig.write('a/b/.vole.yml', 'jobs: {within: {steps: [{run: "true"}]}}\n');
    for (const committed of [false, true]) {
      if (committed) rig.commit();
      const within = committed ? 'a/b' : '.';
      const linting = rig.startVole(['lint'], {}, within);
      const { code } = await linting.ended;
      expect(code).toBe(65);
      const { err } = await rig.run([], {}, within);
      const faults = err.split('\n').filter((line) => /\.vole\.yml:\d/.test(line));
      expect(faults.map((line) => `${line.replace(/^vole: /, '')}\n`).join('')).toBe(linting.stderr);
      expect(linting.stderr).toContain(committed ? '../../.vole.yml:2:7: ' : '.vole.yml:2:7: ');
    }
  });

  it('says that the one there is not the one of the repository', async () => {
    rig.write('a/b/.vole.yml', 'jobs: {within: {steps: [{run: "true"}]}}\n');
    rig.commit();
    const { code, err } = await rig.run([], {}, 'a/b');
    expect(code).toBe(66);
    expect(err).toMatch(
      /^vole: no \.vole\.yml in .*app at [0-9a-f]{12}: the one in .*a\/b is not at the top of the repository; .*\n$/,
    );
  });
});

describe('vole run where there is no commit', () => {
  it('says that git ignores the workflow, which it would not commit', async () => {
    rig.workflow({ here: 'true' });
    rig.write('.gitignore', '*\n');
    const { code, err } = await rig.run();
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: no .vole.yml to run in .*app: git ignores the one in the folder; .*\n$/);
  });

  it('does not call the hooks that a person has for commits', async () => {
    rig.workflow({ here: 'true' });
    const hooks = path.join(rig.root, 'hooks');
    mkdirSync(hooks);
    writeFileSync(path.join(hooks, 'prepare-commit-msg'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const home = path.join(rig.root, 'home');
    mkdirSync(home);
    writeFileSync(path.join(home, '.gitconfig'), `[core]\n\thooksPath = ${hooks}\n`);
    expect((await rig.run([], { HOME: home })).code).toBe(0);
  });

  it.each(['a plain folder', 'an unborn repository'])(
    'runs the files of %s and writes nothing there',
    async (kind) => {
      if (kind !== 'a plain folder') execFileSync('git', ['init', '-q', rig.folder]);
      rig.workflow({ a: 'cat f' });
      rig.write('f', 'as it is\n');
      const before = filesOf(rig.folder);
      const { code, out, err } = await rig.run();
      expect(code).toBe(0);
      expect(out).toContain('a | as it is\n');
      expect(err).toBe('vole: no commit here: running the files as they are\n');
      expect(filesOf(rig.folder)).toEqual(before);
      rig.expectNothingLeft();
      expect(readdirSync(path.join(rig.root, 'dir', 'git'))).toEqual([]);
    },
  );
});

describe('vole run with nothing to run', () => {
  it('says in one line what to write where there is no workflow', async () => {
    const { code, err } = await rig.run();
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: no \.vole\.yml in .*write one.*vole run --help.*\n$/);
  });

  it('names file, line and column of a fault', async () => {
    rig.write('.vole.yml', 'on: [push]\njobs:\n  a:\n    stps: []\n');
    rig.commit();
    const { code, err } = await rig.run();
    expect(code).toBe(65);
    expect(err).toMatch(/^vole: \.vole\.yml:4:5: /m);
  });

  it('names a job that is not there, and those that are', async () => {
    rig.workflow({ a: 'true', b: 'true' });
    rig.commit();
    const { code, err } = await rig.run(['c']);
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: .*`c`.*a, b\n$/);
  });

  it('says in one line that its directory cannot be made, and ends', async () => {
    rig.workflow({ a: 'true' });
    rig.commit();
    const running = new VoleProcess(['run'], {
      cwd: rig.folder,
      env: { HOME: '/dev/null', XDG_CACHE_HOME: '', TMPDIR: rig.tmp },
    });
    cleanup.defer(() => running.destroy());
    expect((await running.ended).code).toBe(74);
    expect(running.stderr).toMatch(/^vole: --dir \/dev\/null\/\.cache\/vole cannot be used: .*\n$/);
  });
});

describe('vole run with jobs', () => {
  it('ends with 1 where one fails, shows its output and says why in the table', async () => {
    rig.workflow({ good: 'true', bad: 'echo reason >&2; exit 3' });
    rig.commit();
    const { code, out } = await rig.run(['--jobs', '2']);
    expect(code).toBe(1);
    expect(out).toContain('bad  | reason\n');
    expect(out).toMatch(/✗ bad +failed .*exit code 3/);
    expect(out).toMatch(/✓ good +passed/);
  });

  it('runs jobs that ask for another host, saying so, since there is none to wait for', async () => {
    rig.write(
      '.vole.yml',
      'on: [push]\njobs:\n  a: {labels: [linux, gpu], steps: [{run: "true"}]}\n  b: {cpus: 4000, memory: 900TiB, steps: [{run: "true"}]}\n',
    );
    rig.commit();
    const { code, out, err } = await rig.run();
    expect(code).toBe(0);
    expect(out).toMatch(/✓ a .*\n✓ b .*\n$/);
    expect(err).toMatch(
      /^vole: labels are not looked at here: linux, gpu\nvole: b wants more than this host has \(\d+ cores and [\d.]+ GiB\), and runs alone\n$/,
    );
  });

  it('runs those that were named and what they need', async () => {
    rig.write(
      '.vole.yml',
      'on: [push]\njobs:\n  a: {steps: [{run: "true"}]}\n  b: {needs: [a], steps: [{run: "true"}]}\n  c: {steps: [{run: "false"}]}\n',
    );
    rig.commit();
    const { code, out } = await rig.run(['b']);
    expect(code).toBe(0);
    expect(out).toMatch(/✓ a .*\n✓ b .*\n$/);
  });

  it('runs one entry of a matrix by the name that its table shows', async () => {
    const test =
      '{needs: [a], name: "on ${{ matrix.n }}", strategy: {matrix: {n: [20, 22]}}, steps: [{run: "true"}]}';
    rig.write('.vole.yml', `jobs:\n  a: {steps: [{run: "true"}]}\n  test: ${test}\n`);
    rig.commit();
    const one = await rig.run(['on 22']);
    expect(one.code).toBe(0);
    expect(one.out).toMatch(/✓ a .*\n✓ on 22 .*\n$/);
    expect((await rig.run(['test'])).out).toMatch(/✓ a .*\n✓ on 20 .*\n✓ on 22 .*\n$/);
    const { code, err } = await rig.run(['on22']);
    expect(code).toBe(66);
    expect(err).toMatch(/^vole: .* has no job `on22` \(is `on 22` meant\?\); it has a, test\n$/);
  });

  it('prints JSON for a program and the output to standard error with --json', async () => {
    rig.workflow({ a: 'echo said; exit 4' });
    rig.commit();
    const { code, out, err } = await rig.run(['--json']);
    expect(code).toBe(1);
    const pipeline = JSON.parse(out) as ApiPipeline;
    expect(pipeline.runs).toMatchObject([{ job: 'a', state: 'failed', reason: 'exit' }]);
    expect(err).toContain('a | said\n');
  });

  it('keeps the cache for the next run, and none of it with --no-cache', async () => {
    rig.workflow({ a: 'ls $VOLE_CACHE; touch $VOLE_CACHE/kept' });
    rig.commit();
    expect((await rig.run()).out).not.toContain('a | kept');
    expect((await rig.run()).out).toContain('a | kept\n');
    expect((await rig.run(['--no-cache'])).out).not.toContain('a | kept');
    expect((await rig.run()).out).not.toContain('a | kept');
  });

  it('shares its directory and repository with another one at the same time', async () => {
    const gate = path.join(rig.root, 'go');
    rig.workflow({ a: `echo $$ > mark; echo up; until [ -e ${gate} ]; do sleep 0.02; done; ls -A | wc -l` });
    rig.commit();
    const both = [rig.start(), rig.start()];
    for (const one of both) await one.says(/a \| up/);
    writeFileSync(gate, '');
    for (const one of both) {
      expect((await one.ended).code).toBe(0);
      expect(one.stdout).toContain('a | 3\n');
    }
    rig.expectNothingLeft();
  });
});

describe('vole run that is interrupted', () => {
  const slow = "trap 'sleep 0.3; echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done";
  const deaf = "trap '' TERM; sleep 999 & echo up; while :; do sleep 0.1; done";

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s ends its jobs with their grace',
    async (signal) => {
      rig.workflow({ a: slow, b: 'echo never' });
      rig.commit();
      const running = rig.start();
      await running.says(/a \| up/);
      running.kill(signal);
      expect((await running.ended).code).toBe(130);
      expect(running.stdout).toContain('a | bye\n');
      expect(running.stdout).toMatch(/- a +cancelled.*\n- b +cancelled/);
      rig.expectNothingLeft();
    },
  );

  it('twice kills its jobs', async () => {
    rig.workflow({ a: deaf });
    rig.commit();
    const running = rig.start(['--kill-grace', '600']);
    await running.says(/a \| up/);
    running.kill('SIGINT');
    await running.says(/once more/);
    await new Promise((resolve) => setTimeout(resolve, 350)); // sooner it is the same key
    running.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    expect(running.stdout).toMatch(/- a +cancelled/);
    rig.expectNothingLeft();
  });

  it('by a reader that goes away ends its jobs', async () => {
    rig.workflow({ a: 'echo up; while :; do echo more; sleep 0.05; done', b: 'true' });
    rig.commit();
    const running = rig.start();
    await running.says(/a \| up/);
    running.child.stdout?.destroy();
    expect((await running.ended).code).toBe(141);
    rig.expectNothingLeft();
  });

  it('by a kill leaves temporary files, which the next one removes, and not those of one that runs', async () => {
    rig.workflow({ a: deaf, b: 'true' });
    rig.commit();
    const temporary = () => readdirSync(rig.tmp);
    const killed = rig.start(['a']);
    await killed.says(/a \| up/);
    killed.kill('SIGKILL');
    await killed.ended;
    const left = temporary();
    expect(left).toHaveLength(1);
    const living = rig.start(['a']);
    await living.says(/a \| up/);
    const own = temporary();
    expect(own).toHaveLength(1);
    expect(own).not.toEqual(left);
    expect((await rig.run(['b'])).code).toBe(0);
    expect(temporary()).toEqual(own);
    living.kill('SIGTERM');
    await living.ended;
    rig.expectNothingLeft();
  });

  it('in its first moments leaves no temporary file', async () => {
    rig.workflow({ a: deaf });
    rig.commit();
    const running = rig.start();
    await until('its scratch folder', () => readdirSync(rig.tmp).length > 0);
    running.kill('SIGTERM');
    expect((await running.ended).code).toBe(130);
    expect(rig.processes()).toEqual([]);
    expect(readdirSync(rig.tmp)).toEqual([]);
    rmSync(path.join(rig.root, 'dir'), { recursive: true, force: true });
  });
});
