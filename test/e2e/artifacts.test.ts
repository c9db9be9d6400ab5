import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ApiArtifacts } from '../../src/shared/api.ts';
import { Rig } from '../support/e2e-rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

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
