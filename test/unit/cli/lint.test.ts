import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/program.ts';
import { recordedContext } from '../../support/cli-context.ts';

let cwd = '';
beforeEach(() => {
  cwd = mkdtempSync(path.join(os.tmpdir(), 'vole-lint-'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

async function lint(args: string[], given: Parameters<typeof recordedContext>[0] = {}) {
  const context = recordedContext({ cwd, ...given });
  const code = await runCli(['lint', ...args], context);
  return { code, out: context.out, err: context.err };
}

const GOOD = 'jobs: {a: {strategy: {matrix: {x: [1, 2]}}, steps: [{run: x}]}}\n';

it('checks .vole.yml where it is', async () => {
  writeFileSync(path.join(cwd, '.vole.yml'), GOOD);
  expect(await lint([])).toEqual({
    code: 0,
    out: '.vole.yml: no faults (jobs: 1, runs: 2, commands: 0)\n',
    err: '',
  });
});

it('checks that of the repository from a folder within it, and says which', async () => {
  const sub = path.join(cwd, 'a', 'b');
  mkdirSync(sub, { recursive: true });
  execFileSync('git', ['-C', cwd, 'init', '-q']);
  writeFileSync(path.join(cwd, '.vole.yml'), GOOD);
  writeFileSync(path.join(sub, '.vole.yml'), 'jobs: []\n');
  expect((await lint([], { cwd: sub })).out).toMatch(/^\.\.\/\.\.\/\.vole\.yml: no faults/);
  expect((await lint(['.vole.yml'], { cwd: sub })).code).toBe(65);
  rmSync(path.join(cwd, '.vole.yml'));
  expect(await lint([], { cwd: sub })).toEqual({
    code: 66,
    out: '',
    err: `vole: there is no file ../../.vole.yml; the one in ${sub} is not at the top of the repository; name another, or - for standard input\n`,
  });
});

it('checks that of the folder where there is no git', async () => {
  writeFileSync(path.join(cwd, '.vole.yml'), GOOD);
  expect((await lint([], { env: { PATH: '/nowhere' } })).out).toMatch(/^\.vole\.yml: no faults/);
});

it('says file, line and column of each fault on standard error', async () => {
  writeFileSync(path.join(cwd, 'w.yml'), 'jobs:\n  a: {stps: []}\n  b: {steps: []}\n');
  expect(await lint(['w.yml'])).toEqual({
    code: 65,
    out: '',
    err: 'w.yml:2:7: the key `stps` is not known here; is `steps` meant?\nw.yml:3:14: `steps`: expected at least one step\n',
  });
});

it('reads standard input, and prints JSON for a program', async () => {
  const good = await lint(['-', '--json'], { stdin: GOOD });
  expect(JSON.parse(good.out)).toEqual({
    file: 'standard input',
    ok: true,
    faults: [],
    more: false,
    jobs: [{ id: 'a', runs: 2 }],
  });
  const bad = await lint(['-', '--json'], { stdin: 'jobs: []\n' });
  expect([bad.code, JSON.parse(bad.out)]).toEqual([
    65,
    {
      file: 'standard input',
      ok: false,
      faults: [
        {
          file: 'standard input',
          line: 1,
          column: 7,
          message: '`jobs`: expected a map of jobs by their names, found a list',
        },
      ],
      more: false,
      jobs: [],
    },
  ]);
});

it('says in one line that there is no such file, or that it cannot be read', async () => {
  expect(await lint([])).toEqual({
    code: 66,
    out: '',
    err: 'vole: there is no file .vole.yml; name another, or - for standard input\n',
  });
  expect(await lint(['.'])).toMatchObject({
    code: 2,
    err: 'vole: . is a folder; name the workflow file in it, or - for standard input\n',
  });
  expect(await lint(['/proc/self/mem'])).toMatchObject({
    code: 74,
    err: expect.stringMatching(/^vole: \/proc\/self\/mem cannot be read: .*\n$/),
  });
});

it('refuses a file of 2 MB, and one that does not end', async () => {
  writeFileSync(path.join(cwd, 'big.yml'), '#'.repeat(2_000_000));
  expect((await lint(['big.yml'])).err).toBe('big.yml:1:1: the file has 1.9 MiB; at most 1 MiB are read\n');
  expect(await lint(['/dev/zero'])).toMatchObject({
    code: 2,
    err: 'vole: /dev/zero has more than 64 MiB; give less\n',
  });
});
