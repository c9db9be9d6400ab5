import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '../support/server-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { voleCommand } from '../support/vole-command.ts';
import { VoleProcess } from '../support/vole-process.ts';

const WORKFLOW = `on: push
jobs:
  lint: {steps: [{run: "true"}]}
  test: {needs: [lint], steps: [{run: "true"}]}
`;

const cleanup = new Cleanup();
let root: string;
let source: string;
let keyFile: string;
let server: ServerProcess;

function git(...args: string[]): string {
  return execFileSync('git', ['-C', source, ...args], { stdio: 'pipe' })
    .toString()
    .trim();
}

function commit(text: string): void {
  writeFileSync(path.join(source, '.vole.yml'), text);
  git('add', '-A');
  git('commit', '-q', '-m', 'change');
}

function makeKey(name: string): string {
  const file = path.join(root, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'a comment', '-f', file]);
  return file;
}

/** A command on the running server. */
function vole(args: readonly string[], input = '') {
  return voleCommand([...args, '--data', server.dataDir], { input });
}

async function ok(args: readonly string[], input = ''): Promise<string> {
  const { code, stdout, stderr } = await vole(args, input);
  expect(`${code} ${stderr}`).toBe('0 ');
  return stdout;
}

async function fails(args: readonly string[], code: number, text: string | RegExp, input = '') {
  const result = await vole(args, input);
  expect(result.stderr).toMatch(text);
  expect(result.code).toBe(code);
  expect(result.stderr.trim().split('\n')).toHaveLength(1);
  expect(result.stderr).not.toMatch(/^\s+at /m);
}

beforeAll(async () => {
  root = cleanup.tempDir('vole-client-');
  source = path.join(root, 'source');
  mkdirSync(source);
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 't');
  git('config', 'user.email', 't@example.invalid');
  commit(WORKFLOW);
  keyFile = makeKey('key');
  server = await startServerProcess();
  cleanup.defer(() => server.remove());
});

afterAll(() => cleanup.run());

describe('vole server', () => {
  it('says in one line where it listens and by which host key', () => {
    const { ready, httpUrl, sshPort, fingerprint } = server;
    expect(ready.trim().split('\n')).toHaveLength(1);
    for (const fact of [httpUrl, `127.0.0.1:${sshPort}`, fingerprint]) expect(ready).toContain(fact);
    expect(fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  });

  it('keeps its files to itself', () => {
    expect(statSync(server.dataDir).mode & 0o777).toBe(0o700);
    for (const file of ['server.json', 'admin-token', 'vole.sqlite', 'vole.sqlite-wal'])
      expect(statSync(path.join(server.dataDir, file)).mode & 0o777).toBe(0o600);
  });

  it('is the only one on its data directory and its addresses', async () => {
    const second = ['server', '--http', '127.0.0.1:0', '--ssh', '127.0.0.1:0'];
    await fails(second, 75, /another process of vole uses the data directory/);
    const other = path.join(root, 'other-data');
    const taken = await voleCommand([
      'server',
      '--data',
      other,
      '--http',
      new URL(server.httpUrl).host,
      '--ssh',
      '127.0.0.1:0',
    ]);
    expect(taken.stderr).toMatch(/HTTP address .* is in use/);
    expect(taken.code).toBe(75);
    expect(existsSync(path.join(other, 'server.json'))).toBe(false);
    const ssh = await voleCommand([
      'server',
      '--data',
      other,
      '--http',
      '127.0.0.1:0',
      '--ssh',
      `127.0.0.1:${server.sshPort}`,
    ]);
    expect(ssh.stderr).toMatch(/SSH address .* is in use|--ssh/);
    expect(ssh.code).not.toBe(0);
  });

  it('closes once at SIGTERM and SIGINT together, with 0, and takes its address away', async () => {
    const other = await startServerProcess();
    cleanup.defer(() => other.remove());
    const file = path.join(other.dataDir, 'server.json');
    expect(existsSync(file)).toBe(true);
    other.kill('SIGINT');
    other.kill('SIGTERM');
    expect(await other.exited).toBe(0);
    expect(existsSync(file)).toBe(false);
    const { token } = other;
    const again = await startServerProcess({ dataDir: other.dataDir });
    cleanup.defer(() => again.remove());
    expect([again.token, again.fingerprint]).toEqual([token, other.fingerprint]);
    expect(await again.stop()).toBe(0);
  });

  it('says in one line that its data directory cannot be', async () => {
    const file = path.join(root, 'a-file');
    writeFileSync(file, '');
    const result = await voleCommand([
      'server',
      '--data',
      path.join(file, 'x'),
      '--http',
      '127.0.0.1:0',
      '--ssh',
      '127.0.0.1:0',
    ]);
    expect(result.stderr).toMatch(/^vole: cannot make the data directory .*ENOTDIR/);
    expect(result.code).toBe(74);
  });
});

describe('vole repo and vole key', () => {
  it('set up, list, change and remove', async () => {
    expect(await ok(['repo', 'add', 'team/listed', source, '--max-jobs', '2'])).toBe(
      `added team/listed (${source}), at most 2 runs at once\n`,
    );
    expect(await ok(['repo', 'ls'])).toContain(`team/listed  2         none   ${source}\n`);
    expect(await ok(['repo', 'set', 'team/listed', '--max-jobs', 'none'])).toContain('no cap');
    expect(JSON.parse(await ok(['repo', 'ls', '--json']))).toMatchObject({
      repositories: [{ name: 'team/listed', maxJobs: null }],
    });
    expect(await ok(['repo', 'rm', 'team/listed'])).toBe('removed team/listed\n');

    const fingerprint =
      execFileSync('ssh-keygen', ['-l', '-f', `${keyFile}.pub`])
        .toString()
        .split(' ')[1] ?? '';
    expect(await ok(['key', 'add', 'build1', `${keyFile}.pub`])).toBe(
      `added ${fingerprint} of account build1\n`,
    );
    expect(await ok(['key', 'add', 'build1', '-'], readFileSync(`${keyFile}.pub`, 'utf8'))).toContain(
      'there already',
    );
    expect(await ok(['key', 'ls'])).toContain(`build1   ${fingerprint}`);
    await fails(['key', 'add', 'build2', `${keyFile}.pub`], 2, /is account build1's already/);
    expect(await ok(['key', 'rm', 'build1', fingerprint])).toBe('removed 1 key of account build1\n');
    await fails(['key', 'rm', 'build1', '--all'], 66, /account build1 has no key/);
  });

  it('warn of a path on this host where no repository is, and take it all the same', async () => {
    const nowhere = path.join(root, 'not-there.git');
    const added = await vole(['repo', 'add', 'team/later', nowhere]);
    expect([added.code, added.stderr]).toEqual([
      0,
      `vole: there is no ${nowhere} on this host yet: runs of it will fail\n`,
    ]);
    const changed = await vole(['repo', 'set', 'team/later', '--clone-url', path.dirname(keyFile)]);
    expect([changed.code, changed.stderr]).toEqual([0, expect.stringContaining('is no git repository')]);
    await ok(['repo', 'set', 'team/later', '--clone-url', source]);
    await ok(['repo', 'rm', 'team/later']);
  });

  it("take a path as the server's where VOLE_URL names it, as with --url", async () => {
    const tokenFile = path.join(root, 'token-of-env');
    writeFileSync(tokenFile, `${server.token}\n`);
    const env = { VOLE_URL: server.httpUrl, VOLE_TOKEN_FILE: tokenFile };
    const elsewhere = (...args: string[]) => voleCommand(['repo', ...args], { env, cwd: root });
    const added = await elsewhere('add', 'team/far', '/not/on/this/host.git');
    expect([added.code, added.stderr]).toEqual([0, '']);
    const changed = await elsewhere('set', 'team/far', '--clone-url', '/nor/here.git');
    expect([changed.code, changed.stderr]).toEqual([0, '']);
    const relative = await elsewhere('set', 'team/far', '--clone-url', './x.git');
    expect([relative.code, relative.stderr]).toEqual([2, expect.stringContaining('nor an absolute path')]);
    // --data asks the server there, wherever the environment's address points.
    const other = { VOLE_URL: 'http://127.0.0.1:1' };
    const here = await voleCommand(['repo', 'rm', 'team/far', '--data', server.dataDir], {
      env: other,
      cwd: root,
    });
    expect([here.code, here.stderr]).toEqual([0, '']);
  });

  it('refuse what is none in one line', async () => {
    await fails(['repo', 'add', 'noslash', source], 2, /repository: "noslash" is not allowed/);
    await fails(
      ['repo', 'add', 'a/b', 'ext::sh -c id'],
      2,
      /^vole: clone URL: "ext::sh -c id" is not allowed: it is neither/,
    );
    const dashed = await voleCommand([
      'repo',
      'add',
      '--data',
      server.dataDir,
      '--',
      'a/b',
      '--upload-pack=x',
    ]);
    expect(dashed).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^vole: clone URL: .*an option\n$/),
    });
    await fails(['repo', 'add', 'a/b', source, '--max-jobs', '0'], 2, /--max-jobs: '0' is not allowed/);
    await fails(['repo', 'set', 'a/b'], 2, /nothing to set/);
    await fails(['repo', 'rm', 'a/b'], 66, /no repository a\/b/);
    await fails(['key', 'add', 'x', keyFile], 2, /this is a private key/);
    await fails(['key', 'add', 'x', '-'], 2, /there is no key in it/);
    await fails(['key', 'add', 'x', path.join(root, 'not-there.pub')], 66, /cannot read/);
    await fails(['key', 'add', '../x', `${keyFile}.pub`], 2, /account/);
  });

  it('work before the server was ever started, and it has them then', async () => {
    const data = path.join(root, 'before', 'data');
    const before = async (args: readonly string[], input = '') => {
      const result = await voleCommand([...args, '--data', data], { input });
      expect(`${result.code} ${result.stderr}`).toBe('0 ');
      return result.stdout;
    };
    await before(['repo', 'add', 'team/app', source]);
    await before(['key', 'add', 'build1', `${keyFile}.pub`]);
    await before(['secret', 'set', 'team/app', 'TOKEN'], 's3cret\n');
    expect(await before(['key', 'ls'])).toContain('build1');
    expect(statSync(data).mode & 0o777).toBe(0o700);
    const started = await startServerProcess({ dataDir: data });
    cleanup.defer(() => started.remove());
    expect(await before(['repo', 'ls'])).toContain('team/app');
    expect(await before(['key', 'ls'])).toContain('build1');
    expect(await before(['secret', 'ls', 'team/app'])).toContain('TOKEN');
    started.kill('SIGKILL');
    await started.exited;
    // what the killed server left does not keep anybody from setting up
    expect(await before(['repo', 'ls'])).toContain('team/app');
  });
});

describe('vole secret', () => {
  it('never shows a value, anywhere', async () => {
    await ok(['repo', 'add', 'team/secret', source]);
    expect(await ok(['secret', 'set', 'team/secret', 'TOKEN'], 'hunter2-value\n')).toBe(
      'set TOKEN of team/secret\n',
    );
    const listed = await ok(['secret', 'ls', 'team/secret', '--json']);
    expect(JSON.parse(listed)).toMatchObject({ secrets: [{ name: 'TOKEN' }] });
    const replies = await Promise.all(
      ['/api/repos/team/secret/secrets', '/api/repos/team/secret', '/api/repos'].map(async (route) =>
        (
          await fetch(server.httpUrl + route, { headers: { authorization: `Bearer ${server.token}` } })
        ).text(),
      ),
    );
    const database = execFileSync('sh', ['-c', 'cat "$1"/*; true', 'sh', server.dataDir], {
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1 << 28,
    }).toString('latin1');
    for (const text of [listed, ...replies, server.stderr(), database]) expect(text).not.toContain('hunter2');
    expect(statSync(path.join(server.dataDir, 'secret-key')).mode & 0o777).toBe(0o600);
    expect(await ok(['secret', 'rm', 'team/secret', 'TOKEN'])).toBe('removed TOKEN of team/secret\n');
    await fails(['secret', 'rm', 'team/secret', 'TOKEN'], 66, /has no secret TOKEN/);
  });

  it('refuses names and values that no variable can have', async () => {
    await fails(['secret', 'set', 'team/secret', '1X'], 2, /secret: "1X" is not allowed/, 'x');
    await fails(['secret', 'set', 'team/secret', 'X'], 2, /the value is empty/, '\n');
    await fails(['secret', 'set', 'team/secret', 'X'], 2, /NUL/, 'a\0b');
    await fails(['secret', 'set', 'team/secret', 'X'], 2, /over 64 KiB/, 'x'.repeat(65_537));
    await fails(['secret', 'set', 'no/such', 'X'], 66, /no repository no\/such/, 'long-enough');
    await ok(['secret', 'set', 'team/secret', 'X'], 'x'.repeat(65_536));
  });
});

describe('vole submit, runs, why, logs and cancel', () => {
  it('go through the life of a run that nobody takes', async () => {
    await ok(['repo', 'add', 'team/app', source]);
    const submitted = await ok(['submit', 'team/app']);
    const [first, second] = [...submitted.matchAll(/^run (\d+) {2}(\w+) {2}(\S+)$/gm)];
    expect([first?.[2], second?.[2]]).toEqual(['lint', 'test']);
    const [lint = '', test = ''] = [first?.[1], second?.[1]];
    expect(first?.[3]).toBe(`${server.httpUrl}/runs/${lint}`);
    const page = await fetch(first?.[3] ?? '');
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('Why it waits');

    const runs = await ok(['runs', '--repository', 'team/app', '--state', 'queued']);
    expect(runs).toMatch(new RegExp(`^${lint} +queued +team/app +lint +main `, 'm'));
    expect(await ok(['why', lint])).toMatch(/is queued\n {2}\S/);
    expect(await ok(['why', test])).toMatch(/lint/);
    expect(JSON.parse(await ok(['why', test, '--json']))).toMatchObject({ state: 'queued', wait: {} });
    const empty = await vole(['logs', lint]);
    expect([empty.code, empty.stdout]).toEqual([0, '']);
    expect(empty.stderr).toMatch(
      new RegExp(`^vole: no log: run ${lint} \\(lint of \\S+\\) is queued; .vole why ${lint}. says why\\n$`),
    );

    expect(await ok(['cancel', lint, test, '--why', 'no longer needed'])).toContain(
      `run ${lint}: cancelled\n`,
    );
    expect(await ok(['why', lint])).toContain('no longer needed');
    expect(await ok(['cancel', lint])).toBe(`run ${lint}: had been cancelled before\n`);
    const followed = await vole(['logs', lint, '-f']);
    expect(followed.code).toBe(0);
    expect(followed.stderr).toContain('cancelled');
  });

  it('take single jobs, refs, and say what is not there', async () => {
    git('tag', '-a', '-m', 't', 'v1');
    const one = JSON.parse(await ok(['submit', 'team/app', 'lint', '--ref', 'v1', '--json']));
    expect(one).toMatchObject({ ref: 'refs/tags/v1', fault: null, runs: [{ job: 'lint', state: 'queued' }] });
    await fails(['submit', 'team/app', 'nope'], 66, /has no job `nope`/);
    await fails(['submit', 'team/app', '--ref', 'nope'], 66, /no branch, tag or commit `nope`/);
    await fails(['submit', 'team/app', '--ref=--help'], 2, /--ref: it starts with/);
    await fails(['submit', 'no/such'], 66, /no repository/);
    await fails(['why', '999999'], 66, /no run 999999/);
    await fails(['logs', 'x'], 2, /'x' is no run/);
    await fails(['cancel', '999999'], 66, /no run 999999/);
    await fails(['runs', '--state', 'dead'], 2, /--state: 'dead'/);
    await fails(['runs', '--repository', 'team/nope'], 66, /no repository team\/nope/);
    const none = await vole(['runs', '--repository', 'team/app', '--state', 'lost']);
    expect([none.code, none.stderr]).toEqual([0, 'vole: there are no runs of team/app in state lost\n']);
    expect(none.stdout).toMatch(/^RUN +STATE .*\n$/);
  });

  it('say where a workflow file is wrong', async () => {
    commit('on: push\njobs:\n  a:\n    stepz: []\n');
    const result = await vole(['submit', 'team/app']);
    expect(result.code).toBe(65);
    expect(result.stderr).toMatch(/^vole: \.vole\.yml:\d+:\d+: /);
    const page = /http:\S+\/pipelines\/\d+/.exec(result.stderr)?.[0] ?? '';
    expect(await (await fetch(page)).text()).toMatch(/\.vole\.yml:\d+:\d+: /);
    commit(WORKFLOW);
  });

  it('--wait ends with 1 where a run does not pass', async () => {
    const waiting = new VoleProcess(['submit', 'team/app', 'lint', '--wait', '--data', server.dataDir]);
    cleanup.defer(() => waiting.destroy());
    const [, run = ''] = await waiting.says(/^run (\d+) /m);
    await ok(['cancel', run]);
    const { code } = await waiting.ended;
    const { stdout } = waiting;
    expect(code).toBe(1);
    expect(stdout).toMatch(/^- lint #\d+ +cancelled/m);
  });
});

describe('reaching the server', () => {
  it('works by URL and token file as well, or by VOLE_DATA', async () => {
    const tokenFile = path.join(root, 'token');
    writeFileSync(tokenFile, `${server.token}\n`);
    const byUrl = await voleCommand(['key', 'ls', '--url', server.httpUrl, '--token-file', tokenFile]);
    expect(`${byUrl.code} ${byUrl.stderr}`).toBe('0 ');
    const byEnv = await voleCommand(['runs'], { env: { VOLE_DATA: server.dataDir } });
    expect(`${byEnv.code} ${byEnv.stderr}`).toBe('0 ');
    writeFileSync(tokenFile, 'wrong\n');
    const wrong = await voleCommand(['key', 'ls', '--url', server.httpUrl, '--token-file', tokenFile]);
    expect(wrong.code).toBe(77);
    expect(wrong.stderr).toMatch(/--token-file/);
  });

  it('fails with 69 and one line where nobody is there', async () => {
    for (const args of [
      ['runs', '--url', 'http://127.0.0.1:1'],
      ['runs', '--data', root],
    ]) {
      const { code, stderr } = await voleCommand(args);
      expect(code).toBe(69);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    const { code, stderr } = await voleCommand(['runs']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/which server\?/);
  });
});
