import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { Cleanup } from '../support/temp.ts';
import { vole } from '../support/vole-process.ts';

const root = path.resolve(import.meta.dirname, '../..');
const bin = path.join(root, 'bin/vole.cjs');
const cleanup = new Cleanup();
afterEach(() => cleanup.run());

describe('the built program', () => {
  it('knows its version, and where its own package is', async () => {
    const { code, stdout } = await vole(['--version']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });

  it('loads no database, no SSH and no worker pool only to print its help', async () => {
    // Prints what was loaded as CommonJS, which all of them are, also where a module imports them.
    const preload = `import Module from 'node:module';
      const load = Module._load;
      Module._load = function (name, ...rest) {
        process.stderr.write(name + '\\n');
        return load.call(this, name, ...rest);
      };`;
    const url = `data:text/javascript,${encodeURIComponent(preload)}`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--import', url, bin, '--help']);
    expect(stdout).toContain('Usage: vole');
    expect(stderr).toContain('vole.cjs');
    expect(stderr).not.toMatch(/better-sqlite3|ssh2|piscina|fs-native-extensions/);
  });

  it('says in one line that an error was not caught, and ends with 70', async () => {
    // Thrown once the program looks out for it; `lint` waits for its standard input meanwhile.
    const boom = 'setImmediate(() => { throw new Error("boom") })';
    const url = `data:text/javascript,process.on('newListener', (name) => name === 'uncaughtException' && ${boom})`;
    const failed = promisify(execFile)(process.execPath, ['--import', url, bin, 'lint', '-']);
    await expect(failed).rejects.toMatchObject({
      code: 70,
      stderr: 'vole: internal error: boom; run again with --verbose and report the stack\n',
    });
  });

  it('ends quietly where nobody reads its output', async () => {
    const child = spawn(process.execPath, [bin, 'doctor'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (data: Buffer) => {
      stderr += data.toString();
    });
    const [code] = (await once(child, 'close')) as [number];
    expect([code, stderr]).toEqual([141, '']);
  });

  it('checks this repository’s own workflow', async () => {
    expect(await vole(['lint'], { cwd: root })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no faults'),
    });
  });

  it('checks what stands on standard input, byte for byte', async () => {
    const child = spawn(process.execPath, [bin, 'lint', '-', '--json'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const text = Buffer.from('jobs: {"ä€": {steps: []}}\n');
    // A character split across two writes.
    child.stdin.write(text.subarray(0, 8));
    child.stdin.end(text.subarray(8));
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (data: string) => {
      stdout += data;
    });
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(65);
    expect(stdout).toContain('the key `ä€`');
  });
});

describe('bad input gives one line that names it', () => {
  const runner = [
    'runner',
    '--server',
    'ssh://a@127.0.0.1:1',
    '--key',
    'k',
    '--host-key',
    'SHA256:x',
    '--dir',
    'd',
  ];

  it.each([
    [
      'a flag',
      ['--job', '2'],
      /^vole: unknown option '--job' \(did you mean --jobs\?\); see `vole runner --help`\n$/,
    ],
    ['no jobs', ['--jobs', '0'], /^vole: --jobs: '0' is not allowed; use a whole number from 1 to 256\n$/],
    [
      'a label that is not given',
      ['--labels', 'a,vole:agent'],
      /^vole: --labels: 'vole:agent' is not allowed; use labels that do not begin with vole:.*\n$/,
    ],
    ['jobs that are no number', ['--jobs', 'x'], /^vole: --jobs: 'x' is not allowed; .*\n$/],
    [
      'a size',
      ['--cache-size', '10Q'],
      /^vole: --cache-size: '10Q' is not allowed; use a size such as .*\n$/,
    ],
  ])('of a runner: %s', async (_, args, line) => {
    expect(await vole([...runner, ...args])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(line),
    });
  });

  const steps = 'steps: [{run: x}]';
  const numbers = Array.from({ length: 300 }, (_, index) => index).join(',');

  it.each([
    ['a tab', 'jobs:\n\ta: {}\n', /^w\.yml:2:1: a tab indents this line; expected spaces\n$/],
    [
      'a duplicate key',
      `jobs:\n  a: {${steps}}\n  a: {${steps}}\n`,
      /^w\.yml:3:3: the key `a` stands here twice\n$/,
    ],
    [
      'an unknown key',
      `jobs:\n  a: {${steps}, need: b}\n`,
      /^w\.yml:2:26: the key `need` is not known here; is `needs` meant\?\n$/,
    ],
    [
      'a circle',
      `jobs:\n  a: {${steps}, needs: b}\n  b: {${steps}, needs: a}\n`,
      /^w\.yml:2:33: `needs` goes in a circle: `a` needs `b` needs `a`; expected an order\n$/,
    ],
    [
      '300 matrix entries',
      `jobs:\n  a: {${steps}, strategy: {matrix: {n: [${numbers}]}}}\n`,
      /^w\.yml:2:37: `a`: 300 matrix entries; at most 256 are allowed\n$/,
    ],
    ['a 2 MB file', '#'.repeat(2_000_000), /^w\.yml:1:1: the file has 1\.9 MiB; at most 1 MiB are read\n$/],
  ])('of a workflow: %s', async (_, text, line) => {
    const cwd = cleanup.tempDir();
    writeFileSync(path.join(cwd, 'w.yml'), text);
    expect(await vole(['lint', 'w.yml'], { cwd })).toEqual({
      code: 65,
      stdout: '',
      stderr: expect.stringMatching(line),
    });
  });
});

describe('vole doctor', () => {
  it('says what this host has, and nothing that the tests need is missing', async () => {
    const { code, stdout } = await vole(['doctor', '--json', '--dir', root]);
    const report = JSON.parse(stdout) as {
      ok: boolean;
      checks: { name: string; status: string; found: string }[];
    };
    const names = report.checks.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'Node.js',
        'locks',
        'git',
        'better-sqlite3',
        'fs-native-extensions',
        'cgroup v2',
      ]),
    );
    expect(report.checks.filter(({ status }) => status === 'missing')).toEqual([]);
    expect([code, report.ok]).toEqual([0, true]);
  });

  it('names what is missing, with the remedy, and exits with 72', async () => {
    const { code, stdout } = await vole(['doctor'], { env: { PATH: '/nowhere' } });
    expect(code).toBe(72);
    expect(stdout).toMatch(/^missing +git +not in PATH\n +-> Install git/m);
    expect(stdout).toMatch(/^missing +mkfifo/m);
  });
});
