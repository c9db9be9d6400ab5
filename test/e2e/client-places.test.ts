import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '../support/server-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { voleCommand } from '../support/vole-command.ts';

const cleanup = new Cleanup();
let root: string;
let server: ServerProcess;

beforeAll(async () => {
  root = cleanup.tempDir('vole-places-');
  server = await startServerProcess();
  cleanup.defer(() => server.remove());
});
afterAll(() => cleanup.run());

/** One line on standard error and this exit status. */
async function fails(args: readonly string[], code: number, text: RegExp, cwd = root): Promise<void> {
  const result = await voleCommand(args, { cwd });
  expect(result.stderr).toMatch(text);
  expect(result.code).toBe(code);
  expect(result.stderr.trim().split('\n')).toHaveLength(1);
}

describe('which server, and as whom', () => {
  it('a token that is given and wrong is refused, though reading needs none', async () => {
    const file = path.join(root, 'token');
    writeFileSync(file, 'wrong\n');
    const open = await voleCommand(['runs', '--url', server.httpUrl], { cwd: root });
    expect(open.code).toBe(0);
    await fails(['runs', '--url', server.httpUrl, '--token-file', file], 77, /token is missing or wrong/);
  });

  it('a data directory that is not there is named', async () => {
    const none = path.join(root, 'none');
    for (const line of [
      'runs',
      'logs 1',
      'why 1',
      'repo ls',
      'repo rm a/b',
      'key ls',
      'secret ls a/b',
      'tasks ls',
    ])
      await fails([...line.split(' '), '--data', none], 66, /^vole: there is no data directory \/.*none: /);
    expect(existsSync(none)).toBe(false);
  });

  it('a variable that looks mistyped is warned of once', async () => {
    const env = { VOLE_CACHE_SZE: '1' };
    const { code, stderr } = await voleCommand(['repo', 'ls', '--data', server.dataDir], { env });
    expect([code, stderr.trim().split('\n')]).toEqual([0, [expect.stringContaining('VOLE_CACHE_SZE')]]);
  });

  it('a repository that is removed takes its secrets with it, and says so', async () => {
    const at = ['--data', server.dataDir];
    const ok = async (args: readonly string[], input = '') => {
      const { code, stdout } = await voleCommand([...args, ...at], { input });
      expect(code).toBe(0);
      return stdout;
    };
    await ok(['repo', 'add', 'team/gone', root, '--max-jobs', '1']);
    await ok(['secret', 'set', 'team/gone', 'TOKEN'], 'long-enough');
    expect(await ok(['repo', 'rm', 'team/gone'])).toBe('removed team/gone, with 1 secret\n');
  });

  it('a token file that is not there is 66, as any file', async () => {
    const none = path.join(root, 'no-token');
    await fails(['runs', '--url', server.httpUrl, '--token-file', none], 66, /cannot read --token-file/);
  });

  it('a wrong option is complained of before a server is looked for', async () => {
    await fails(['runs', '--limit', 'abc'], 2, /--limit: 'abc' is not allowed/);
  });

  it('a key file that is none is called that', async () => {
    const args = ['key', 'add', 'b2', '/etc/passwd', '--data', server.dataDir];
    await fails(args, 2, /^vole: \/etc\/passwd: this is no public key of a known type/);
  });
});
