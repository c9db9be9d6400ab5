import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiEvent } from '../../src/shared/api-events.ts';
import { setForge } from '../support/forge-setup.ts';
import { GitRepository } from '../support/git-repository.ts';
import { commentPayload, pushPayload } from '../support/payloads.ts';
import { type ServerProcess, startServerProcess } from '../support/server-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';
import { voleCommand } from '../support/vole-command.ts';

const cleanup = new Cleanup();
let root: string;
let server: ServerProcess;
let sha: string;

const vole = (...args: string[]) => voleCommand([...args, '--data', server.dataDir]);

function save(name: string, text: string): string {
  const file = path.join(root, name);
  writeFileSync(file, text);
  return file;
}

async function listed(): Promise<ApiEvent[]> {
  return (JSON.parse((await vole('event', 'ls', '--json')).stdout) as { events: ApiEvent[] }).events;
}

beforeAll(async () => {
  root = cleanup.tempDir('vole-cli-events-');
  const source = new GitRepository(path.join(root, 'git'));
  sha = source.commit({ '.vole.yml': 'jobs: {a: {steps: [{run: "true"}]}}\n' });
  const dataDir = path.join(root, 'data');
  for (const name of ['team/app', 'team/bare'])
    expect((await voleCommand(['repo', 'add', name, source.dir, '--data', dataDir])).code).toBe(0);
  await setForge(dataDir, 'team/app');
  server = await startServerProcess({ dataDir });
  cleanup.defer(() => server.remove());
});
afterAll(() => cleanup.run());

describe('vole event replay', () => {
  it('feeds the body of a delivery, once', async () => {
    const file = save('push.json', JSON.stringify(pushPayload({ after: sha })));
    expect(await vole('event', 'replay', file)).toMatchObject({ code: 0, stdout: 'event 1\n' });
    expect((await vole('event', 'replay', file)).stdout).toBe('received before, as event 1\n');
    await until('a pipeline', async () => (await listed())[0]?.pipeline === 1);
    expect((await vole('event', 'ls')).stdout).toMatch(
      /^1 +team\/app +push +refs\/heads\/main +\S+.* a pipeline: pipeline 1$/m,
    );
  });

  it('takes event and id from headers above the body', async () => {
    const body = JSON.stringify(commentPayload({ comment: 5, body: '/agent fix' }));
    const head = 'Request URL: x\r\nX-Gitea-Event: issue_comment\r\nX-Gitea-Delivery: the-id\r\n\r\n';
    const file = save(
      'comment.txt',
      head.replace('Request URL: x\r\n', 'Content-Type: application/json\r\n') + body,
    );
    expect(JSON.parse((await vole('event', 'replay', file, '--json')).stdout)).toEqual({
      event: 2,
      text: 'event 2',
    });
    expect((await listed())[0]).toMatchObject({
      delivery: 'the-id',
      kind: 'command',
      about: '#3 fix by alice',
    });
  });

  it('says in one line what cannot be fed', async () => {
    const refused = async (args: string[], code: number, text: RegExp) => {
      const result = await vole('event', 'replay', ...args);
      expect(result.stderr).toMatch(text);
      expect(result.stderr.trim().split('\n')).toHaveLength(1);
      expect(result.code).toBe(code);
    };
    await refused([path.join(root, 'none')], 66, /there is no file/);
    await refused([save('text', 'hello')], 2, /names no repository/);
    await refused([save('text', 'hello'), '--repository', 'team/app'], 2, /the body is no JSON/);
    await refused([save('x', '{}'), '--repository', 'team/app'], 2, /of no event that is known/);
    const other = JSON.stringify(pushPayload({ after: sha, project: 'no/such' }));
    await refused([save('other', other)], 66, /no\/such has no forge/);
    await refused([save('other', other), '--repository', 'team/app'], 66, /about no\/such/);
    await refused([save('bare', other), '--repository', 'team/bare'], 66, /team\/bare has no forge/);
    expect(await listed()).toHaveLength(2);
  });

  it('needs the admin token', async () => {
    const reply = await fetch(`${server.httpUrl}/api/events?repository=team/app&delivery=x`, {
      method: 'POST',
      body: JSON.stringify(pushPayload({ after: sha, at: 'other' })),
    });
    expect(reply.status).toBe(401);
  });
});

it('vole event ls shows what waits, and only of one repository', async () => {
  expect((await vole('event', 'ls', '--pending', '--json')).stdout).toMatch(/"events": \[\]/);
  expect((await vole('event', 'ls', '--repository', 'team/bare', '--json')).stdout).toMatch(/"events": \[\]/);
  expect((await vole('event', 'ls', '--limit', '0')).code).toBe(2);
});

it.each([
  [['--max-concurrent-commands', '33'], {}, '--max-concurrent-commands'],
  [[], { AGENTCI_MAX_CONCURRENT_JOBS: '0' }, 'AGENTCI_MAX_CONCURRENT_JOBS'],
])('a server that may run %j %j commands at once does not start', async (args, env, source) => {
  const dataDir = path.join(root, 'refused');
  const result = await voleCommand(['server', '--data', dataDir, ...args], { env });
  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(
    new RegExp(`${source}: '\\d+' is not allowed; use a whole number from 1 to 32`),
  );
  expect(existsSync(dataDir)).toBe(false);
});
