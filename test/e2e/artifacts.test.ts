import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ApiArtifacts } from '../../src/shared/api.ts';
import { Rig } from '../support/e2e-rig.ts';
import { until } from '../support/until.ts';
import { vole } from '../support/vole-process.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

/** A small artifact and then one of 3 MB. */
const TWO = {
  steps: ['echo one > one; head -c 3000000 /dev/urandom > two'],
  artifacts: [
    { name: 'first', paths: ['one'] },
    { name: 'second', paths: ['two'] },
  ],
};

/** A run of this job that has ended. */
async function ended(build: object): Promise<number> {
  await rig.repository('o/r', { build } as never);
  const [id = 0] = await rig.submit('o/r');
  rig.runner();
  await rig.ended(id);
  return id;
}

/** What a client needs to reach the server through the proxy that breaks off. */
async function torn(): Promise<string[]> {
  const token = path.join(rig.root, 'token');
  writeFileSync(token, rig.facts.token, { mode: 0o600 });
  return ['--url', await tornProxy(rig.facts.http, 1_000_000), '--token-file', token];
}

async function download(id: number, name: string): Promise<Response> {
  return await fetch(`${rig.facts.http}/api/runs/${id}/artifacts/${name}`, {
    headers: { authorization: `Bearer ${rig.facts.token}` },
  });
}

async function artifacts(id: number): Promise<ApiArtifacts['artifacts']> {
  return (await rig.api<ApiArtifacts>('GET', `/api/runs/${id}/artifacts`)).artifacts;
}

it('artifacts are packed, sent over many frames, listed, and come back as the files that they were', async () => {
  await rig.repository(
    'o/r',
    {
      build: {
        checkout: true,
        steps: [
          'mkdir -p dist/sub && echo one > dist/one && head -c 1000000 /dev/urandom > dist/sub/big',
          'ln -s one dist/link; chmod 755 dist/one; sha256sum dist/sub/big',
        ],
        artifacts: [
          { name: 'dist', paths: ['dist/**'] },
          { name: 'src', paths: ['*.txt'] },
        ],
      },
    },
    { files: { 'a.txt': 'from git\n', 'b.md': 'not this' } },
  );
  const [id = 0] = await rig.submit('o/r');
  rig.runner();
  const run = await rig.ended(id);
  expect(run).toMatchObject({ state: 'passed' });
  expect((await artifacts(id)).map(({ name }) => name)).toEqual(['dist', 'src']);

  const reply = await download(id, 'dist');
  expect(reply.status).toBe(200);
  const file = path.join(rig.root, 'dist.tar.gz');
  writeFileSync(file, Buffer.from(await reply.arrayBuffer()));
  const list = execFileSync('tar', ['-tzvf', file]).toString();
  expect(list).toMatch(/^-rwxr-xr-x .* dist\/one$/m);
  expect(list).toMatch(/^l.* dist\/link -> one$/m);
  const big = execFileSync('sh', ['-c', `tar -xzOf ${file} dist/sub/big | sha256sum`]).toString();
  expect(await rig.output(id)).toContain(big.split(' ')[0]);

  const text = Buffer.from(await (await download(id, 'src')).arrayBuffer());
  writeFileSync(file, text);
  expect(execFileSync('tar', ['-tzf', file]).toString()).toBe('a.txt\n');
  expect((await download(id, 'none')).status).toBe(404);
});

it('vole artifacts lists what a run has left and saves it, whole or not at all, and over nothing', async () => {
  await rig.repository('o/r', {
    build: TWO,
    none: { steps: ['true'] },
  });
  const [id = 0, none = 0] = await rig.submit('o/r');
  rig.runner();
  await rig.ended(id);
  await rig.ended(none);
  const out = path.join(rig.root, 'out');
  const command = (...args: string[]) =>
    vole(['artifacts', ...args, '--data', rig.dataDir], { cwd: rig.root });

  expect((await command(String(id))).stdout).toMatch(/^NAME +FILE +SIZE\nfirst +first\.tar\.gz .*\nsecond +/);
  expect((await command(String(none))).stdout).toBe(`run ${none} has no artifacts\n`);
  expect(JSON.parse((await command(String(id), '--json')).stdout)).toMatchObject({
    attempt: 1,
    artifacts: [{ name: 'first', file: 'first.tar.gz' }, { name: 'second' }],
  });

  const saved = await command(String(id), '--all', '-o', out);
  expect([saved.code, saved.stderr]).toEqual([0, '']);
  expect(readdirSync(out).toSorted()).toEqual(['first.tar.gz', 'second.tar.gz']);
  execFileSync('tar', ['-xzf', 'first.tar.gz'], { cwd: out });
  expect(readFileSync(path.join(out, 'one'), 'utf8')).toBe('one\n');

  writeFileSync(path.join(out, 'first.tar.gz'), 'mine');
  const again = await command(String(id), 'first', '-o', out); // a folder that is there
  expect([again.code, again.stderr]).toEqual([
    74,
    expect.stringMatching(/first\.tar\.gz is there already.*--force/),
  ]);
  expect(readFileSync(path.join(out, 'first.tar.gz'), 'utf8')).toBe('mine');
  expect((await command(String(id), 'first', '-o', out, '--force')).code).toBe(0);
  execFileSync('tar', ['-tzf', 'first.tar.gz'], { cwd: out });

  const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');
  const piped = `${process.execPath} ${bin} artifacts ${id} first -o - --data ${rig.dataDir} | tar -tz`;
  expect(execFileSync('sh', ['-c', piped]).toString()).toBe('one\n');

  const unknown = await command(String(id), 'frist');
  expect([unknown.code, unknown.stderr]).toEqual([
    66,
    expect.stringContaining("'frist': did you mean first?"),
  ]);
  expect((await command(String(id), '--all', '-o', '-')).stderr).toContain('name one artifact');
});

it('a download that breaks off leaves nothing and says so', async () => {
  const id = await ended({
    steps: ['head -c 60000000 /dev/urandom > big'],
    artifacts: [{ name: 'big', paths: ['big'] }],
  });
  const out = path.join(rig.root, 'out');
  const broken = await vole(['artifacts', String(id), 'big', '-o', `${out}/`, ...(await torn())]);
  expect(broken.stderr).toMatch(/^vole: big\.tar\.gz did not come whole: .*; nothing is kept\n$/);
  expect(broken.code).toBe(69);
  expect(readdirSync(out)).toEqual([]);

  const full = await vole(['artifacts', String(id), 'big', '-o', '/proc/nowhere', '--data', rig.dataDir]);
  expect([full.code, full.stderr.trim().split('\n').length]).toEqual([74, 1]);
});

it('-o is a file for one artifact and a folder for several, and what is in the way is said before', async () => {
  const id = await ended(TWO);
  const command = (...args: string[]) =>
    vole(['artifacts', String(id), ...args, '--data', rig.dataDir], { cwd: rig.root });
  const at = (...names: string[]) => path.join(rig.root, ...names);
  const saves = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(...args);
    expect([code, stderr]).toEqual([0, '']);
    return stdout.split('\n').flatMap((line) => line.split(/ {2}/)[0] || []);
  };
  const fails = async (code: number, text: RegExp, ...args: string[]) => {
    const { stdout, stderr, code: ended } = await command(...args);
    expect([ended, stdout, stderr]).toEqual([code, '', expect.stringMatching(text)]);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  };

  expect(await saves('first', '-o', 'sub/app.tgz')).toEqual(['sub/app.tgz']);
  expect(execFileSync('tar', ['-tzf', at('sub/app.tgz')]).toString()).toBe('one\n');
  expect(await saves('first', '-o', 'sub')).toEqual(['sub/first.tar.gz']);
  expect(await saves('first', 'first', '-o', 'new/')).toEqual(['new/first.tar.gz']);
  expect(await saves('first', 'second', '-o', 'both')).toEqual(['both/first.tar.gz', 'both/second.tar.gz']);
  expect(await saves('second')).toEqual(['second.tar.gz']);
  expect(readdirSync(at('new'))).toEqual(['first.tar.gz']);

  writeFileSync(at('file'), 'mine');
  await fails(74, /^vole: file is there already: .*--force/, 'first', '-o', 'file');
  await fails(74, /^vole: file: a file is in the way; /, '--all', '-o', 'file');
  await fails(74, /^vole: file: a file is in the way; /, '--all', '-o', 'file', '--force');
  await fails(74, /a file is in the way/, 'first', '-o', 'file/');
  await fails(74, /a file is in the way/, 'first', '-o', 'file/sub/app.tgz');
  await fails(74, /\/dev\/null is no regular file/, 'first', '-o', '/dev/null', '--force');
  expect(readFileSync(at('file'), 'utf8')).toBe('mine');

  mkdirSync(at('taken', 'second.tar.gz'), { recursive: true });
  await fails(74, /second\.tar\.gz is a folder/, '--all', '-o', 'taken', '--force');
  expect(readdirSync(at('taken'))).toEqual(['second.tar.gz']);
  mkdirSync(at('half'));
  writeFileSync(at('half', 'second.tar.gz'), 'mine');
  await fails(74, /second\.tar\.gz is there already/, '--all', '-o', 'half');
  expect(readdirSync(at('half'))).toEqual(['second.tar.gz']);

  await fails(2, /--output is for downloads/, '-o', 'x');
  await fails(2, /--output is for downloads/, '-o', '-');
  await fails(2, /--force is for downloads/, '--force');
  await fails(2, /no artifact 'third'/, '--all', 'third', '-o', 'none');
  expect(existsSync(at('none'))).toBe(false);
});

it('a later download that fails says which were saved before', async () => {
  const id = await ended(TWO);
  const through = await torn();
  const broken = await vole(['artifacts', String(id), '--all', '-o', 'out', ...through], { cwd: rig.root });
  expect(broken.stderr).toMatch(
    /^vole: saved before the fault: out\/first\.tar\.gz\nvole: second\.tar\.gz did not come whole: .*\n$/,
  );
  expect(broken.code).toBe(69);
  expect(readdirSync(path.join(rig.root, 'out'))).toEqual(['first.tar.gz']);
});

it('SIGINT ends a download to standard output though its reader stands still', async () => {
  const id = await ended({
    steps: ['head -c 30000000 /dev/urandom > big'],
    artifacts: [{ name: 'big', paths: ['big'] }],
  });
  const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');
  const args = [bin, 'artifacts', String(id), 'big', '-o', '-', '--data', rig.dataDir];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  rig.cleanup.defer(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (part: Buffer) => (said += part.toString()));
  await once(child.stdout, 'readable'); // and never read
  let before = -1;
  await until('it is held up', () => {
    const written = writtenBy(child.pid ?? 0);
    const isSame = written === before;
    before = written;
    return isSame;
  });
  child.kill('SIGINT');
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(10_000) });
  expect([code, said]).toEqual([
    130,
    expect.stringMatching(/^vole: interrupted after \d+ of \d+ bytes of big\.tar\.gz\n$/),
  ]);
});

/** Bytes, to wherever. */
function writtenBy(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1]);
}

/** Passes on so many bytes of a download and then ends the connection. */
async function tornProxy(target: string, most: number): Promise<string> {
  const proxy = http.createServer((request, reply) => {
    const { method = 'GET', url = '', headers } = request;
    const onward = http.request(`${target}${url}`, { method, headers }, (answer) => {
      reply.writeHead(answer.statusCode ?? 500, answer.headers);
      let sent = 0;
      answer.on('data', (part: Buffer) => {
        sent += part.length;
        reply.write(part);
        if (sent > most) reply.destroy();
      });
      answer.on('end', () => reply.end());
      reply.on('close', () => answer.destroy());
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  rig.cleanup.defer(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

it('an artifact over --artifact-limit fails its run and is named, and the tree is gone', async () => {
  await rig.repository('o/r', {
    big: {
      steps: ['head -c 300000 /dev/urandom > big'],
      artifacts: [{ name: 'too-big', paths: ['big'] }],
    },
  });
  const [id = 0] = await rig.submit('o/r');
  const runner = rig.runner(['--artifact-limit', '100KiB', '--once']);
  const run = await rig.ended(id);
  expect(run).toMatchObject({ state: 'failed', reason: 'artifact' });
  expect(run.detail).toMatch(/too-big.*--artifact-limit/);
  expect(await artifacts(id)).toEqual([]);
  await runner.ended;
  expect(readdirSync(path.join(rig.root, 'dir', 'jobs'))).toEqual([]);
});

it('an artifact is whole though the server is killed and started again before it was sent', async () => {
  await rig.repository('o/r', {
    build: {
      steps: ['head -c 40000000 /dev/urandom > big; echo made; sha256sum big'],
      artifacts: [{ name: 'big', paths: ['big'] }],
    },
  });
  const [id = 0] = await rig.submit('o/r');
  rig.runner();
  await rig.logHas(id, 'made');
  const { http, ssh } = rig.facts;
  rig.server.kill('SIGKILL');
  await rig.server.ended;
  await rig.startServer(['--http', http.replace('http://', ''), '--ssh', ssh]);
  const run = await rig.ended(id);
  expect(run).toMatchObject({ state: 'passed', attempt: 1 });
  const file = path.join(rig.root, 'big.tar.gz');
  writeFileSync(file, Buffer.from(await (await download(id, 'big')).arrayBuffer()));
  const sum = execFileSync('sh', ['-c', `tar -xzOf ${file} big | sha256sum`]).toString();
  expect(await rig.output(id)).toContain(sum.split(' ')[0]);
});
