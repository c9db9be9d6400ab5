import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ForgeClients } from '../../../src/server/forges/clients.ts';
import type { ForgeKind } from '../../../src/shared/api-forge.ts';
import { systemClock } from '../../../src/shared/platform/clock.ts';
import { Cleanup } from '../../support/temp.ts';

const TOKEN = 'tok-0123456789';
let cleanup: Cleanup;
let url: string;
let tokenFile: string;
let asked: { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }[];
let answer: (request: http.IncomingMessage, response: http.ServerResponse) => void;

beforeEach(async () => {
  cleanup = new Cleanup();
  asked = [];
  tokenFile = path.join(cleanup.tempDir(), 'token');
  writeFileSync(tokenFile, `  ${TOKEN}\n`);
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      asked.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  cleanup.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});
afterEach(() => cleanup.run());

function client(kind: ForgeKind = 'gitea', limits = { timeoutMs: 5_000, maxBytes: 10_000 }) {
  const clients = new ForgeClients({ forges: { get: async () => null }, clock: systemClock, limits });
  return clients.of({ kind, apiUrl: `${url}/api/v1`, project: 'team/app', tokenFile });
}

function json(response: http.ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

describe('a client', () => {
  it.each([
    ['gitea', `token ${TOKEN}`],
    ['forgejo', `token ${TOKEN}`],
    ['github', `Bearer ${TOKEN}`],
  ] as const)('of %s sends the token as that forge wants it', async (kind, header) => {
    answer = (_, response) => json(response, 200, { login: 'bot' });
    expect(await client(kind).whoami()).toEqual({ ok: true, value: 'bot' });
    expect(asked[0]?.headers.authorization).toBe(header);
  });

  it('reads a token that was replaced without being made anew', async () => {
    answer = (_, response) => json(response, 200, { login: 'bot' });
    const one = client();
    await one.whoami();
    writeFileSync(tokenFile, 'another');
    await one.whoami();
    expect(asked[1]?.headers.authorization).toBe('token another');
  });

  it('follows pages on the same API, and takes the token nowhere else', async () => {
    const page = (from: number) =>
      [from, from + 1].map((id) => ({ id, user: { login: 'a' }, body: String(id) }));
    const elsewhere = 'http://elsewhere.example:1/api/v1/repos/team/app/issues/3/comments?page=3';
    answer = (request, response) => {
      const second = request.url?.includes('page=2') === true;
      // Forges behind a proxy name themselves as they please: only path and query are taken.
      const next = second
        ? '<http://elsewhere.example:1/other?page=3>'
        : `<${elsewhere.replace('=3', '=2')}>`;
      json(response, 200, page(second ? 3 : 1), { link: `<x>; rel="prev", ${next}; rel="next"` });
    };
    const reply = await client('github').comments(3, Date.UTC(2024, 0, 2));
    expect(reply.ok && reply.value.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
    expect(asked.map(({ url }) => url)).toEqual([
      '/api/v1/repos/team/app/issues/3/comments?since=2024-01-02T00%3A00%3A00Z&per_page=100',
      '/api/v1/repos/team/app/issues/3/comments?page=2',
    ]);
  });

  it('ends at a bound where pages go on for ever', async () => {
    answer = (_, response) => json(response, 200, [], { link: '</api/v1/more>; rel="next"' });
    expect(await client().comments(3, 0)).toMatchObject({
      ok: false,
      why: expect.stringContaining('over 50 pages'),
    });
    expect(asked).toHaveLength(50);
  });

  it('reads no further than its bound', async () => {
    answer = (_, response) => {
      response.writeHead(200);
      const more = () => {
        while (response.write(' '.repeat(1000)));
        response.once('drain', more);
      };
      more();
    };
    expect(await client().whoami()).toMatchObject({
      ok: false,
      status: null,
      why: 'GET /user: the answer is over 10000 bytes',
    });
  });

  it('waits no longer than its bound, also for a body that does not end', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"login":');
    };
    const reply = await client('gitea', { timeoutMs: 100, maxBytes: 1000 }).whoami();
    expect(reply).toMatchObject({
      ok: false,
      why: 'GET /user: no whole answer within 0.1 s',
      // What was asked for may be done yet.
      retryAfterMs: 100,
    });
  });

  it('says what is wrong where nobody listens', async () => {
    const clients = new ForgeClients({ forges: { get: async () => null }, clock: systemClock });
    const nobody = clients.of({
      kind: 'gitea',
      apiUrl: 'http://127.0.0.1:1/api/v1',
      project: 'a/b',
      tokenFile,
    });
    expect(await nobody.whoami()).toMatchObject({
      ok: false,
      status: null,
      why: expect.stringMatching(/^GET \/user: .*(ECONNREFUSED|bad port)/),
    });
  });

  it('does not follow a redirect, since a POST would become a GET', async () => {
    answer = (_, response) => json(response, 301, {}, { location: 'http://127.0.0.1/api/v1/repos/new/name' });
    expect(await client().createComment(3, 'x')).toMatchObject({
      ok: false,
      status: 301,
      why: 'POST /repos/team/app/issues/3/comments: HTTP 301: moved to http://127.0.0.1/api/v1/repos/new/name',
    });
    expect(asked).toHaveLength(1);
  });

  it('takes a shape that it does not know for a failure', async () => {
    answer = (_, response) => json(response, 200, { id: 'seven' });
    expect(await client().createComment(3, 'x')).toMatchObject({
      ok: false,
      why: expect.stringContaining('another shape'),
    });
    answer = (_, response) => response.end('<html>');
    expect(await client().whoami()).toMatchObject({
      ok: false,
      why: 'GET /user: the answer has another shape',
    });
  });

  it('goes by the status alone where something is not there', async () => {
    for (const body of ['', '<html>', '{"message":"x"}', '{']) {
      answer = (_, response) => response.writeHead(404).end(body);
      expect(await client().permission('bob')).toEqual({ ok: true, value: 'none' });
      expect(await client().comment(5)).toEqual({ ok: true, value: null });
      expect(await client().editComment(5, 'x')).toEqual({ ok: true, value: 'gone' });
    }
    answer = (_, response) => response.writeHead(204).end();
    expect(await client().editComment(5, 'x')).toEqual({ ok: true, value: 'edited' });
  });
});

describe('a permission', () => {
  it.each(['none', 'read', 'write', 'admin', 'owner'])('is passed on: %s', async (permission) => {
    answer = (_, response) => json(response, 200, { permission });
    expect(await client().permission('bob')).toEqual({ ok: true, value: permission });
  });

  it('that a forge invents grants nothing, and one that it refuses to tell is a failure', async () => {
    answer = (_, response) => json(response, 200, { permission: 'superuser' });
    expect(await client().permission('bob')).toEqual({ ok: true, value: 'none' });
    answer = (_, response) => json(response, 403, { message: 'Must be admin' });
    expect(await client().permission('bob')).toMatchObject({
      ok: false,
      status: 403,
      why: 'GET /repos/team/app/collaborators/bob/permission: HTTP 403: Must be admin',
    });
  });

  it('of a login that would be another path is not asked for', async () => {
    answer = (_, response) => json(response, 200, { permission: 'owner' });
    for (const login of ['..', '.', '', 'a/b', 'a%2fb', '../x', 'a?b', 'a b', 'ä'])
      expect(await client().permission(login), login).toEqual({ ok: true, value: 'none' });
    expect(asked).toEqual([]);
    expect(await client().permission('dependabot[bot]')).toEqual({ ok: true, value: 'owner' });
  });
});

describe('the head of a pull request', () => {
  const head = { sha: 'b'.repeat(40), ref: 'topic/ü' };

  it('is told, also where the fork is deleted', async () => {
    answer = (_, response) =>
      json(response, 200, {
        state: 'open',
        head: { ...head, repo: { full_name: 'fork/app' } },
        base: { ref: 'main' },
      });
    expect(await client().pullRequest(7)).toEqual({
      ok: true,
      value: { ...head, open: true, repository: 'fork/app', baseRef: 'main' },
    });
    answer = (_, response) =>
      json(response, 200, { state: 'closed', head: { ...head, repo: null }, base: { ref: 'main' } });
    expect(await client().pullRequest(7)).toMatchObject({ value: { open: false, repository: null } });
  });
});

describe('the token’s file', () => {
  it.each([
    ['is not there', (file: string) => path.join(file, '..', 'none'), /^token file: ENOENT/],
    [
      'is a directory',
      (file: string) => {
        mkdirSync(`${file}.d`);
        return `${file}.d`;
      },
      /not a file/,
    ],
    [
      'is empty',
      (file: string) => {
        writeFileSync(`${file}.e`, '\n');
        return `${file}.e`;
      },
      /expected one token/,
    ],
    [
      'holds more than a token',
      (file: string) => {
        writeFileSync(`${file}.m`, `${TOKEN}\nand more`);
        return `${file}.m`;
      },
      /expected one token/,
    ],
    [
      'has no end',
      (file: string) => {
        symlinkSync('/dev/zero', `${file}.z`);
        return `${file}.z`;
      },
      /not a file/,
    ],
  ] as const)('that %s is named, and what is in it is not', async (_, make, why) => {
    tokenFile = make(tokenFile);
    const reply = await client().whoami();
    expect(reply).toMatchObject({ ok: false, why: expect.stringMatching(why) });
    expect(JSON.stringify(reply)).not.toContain(TOKEN);
    expect(asked).toEqual([]);
  });
});

describe('issues and pull requests', () => {
  it('an issue is read, and none where it is not there or gone', async () => {
    answer = (_, response) =>
      json(response, 200, { title: 't', body: null, state: 'open', pull_request: null });
    expect(await client().issue(3)).toEqual({
      ok: true,
      value: { title: 't', body: '', open: true, pull: false },
    });
    expect(asked[0]).toMatchObject({ method: 'GET', url: '/api/v1/repos/team/app/issues/3' });
    answer = (_, response) =>
      json(response, 200, { title: 't', body: 'b', state: 'closed', pull_request: {} });
    expect(await client().issue(3)).toMatchObject({ value: { body: 'b', open: false, pull: true } });
    for (const status of [404, 410]) {
      answer = (_, response) => json(response, status, {});
      expect(await client().issue(3)).toEqual({ ok: true, value: null });
    }
    answer = (_, response) => json(response, 500, {});
    expect(await client().issue(3)).toMatchObject({ ok: false, status: 500 });
  });

  const pull = (number: number, ref: string, repo: string | null) => ({
    number,
    html_url: `https://forge.example/pulls/${number}`,
    head: { ref, repo: repo === null ? null : { full_name: repo } },
  });

  it.each([
    ['gitea', '/api/v1/repos/team/app/pulls?state=open&limit=50'],
    ['github', '/api/v1/repos/team/app/pulls?state=open&head=team%3Aagent%2Fissue-3&per_page=100'],
  ] as const)('the pull request of a branch of the repository itself is found on %s', async (kind, path) => {
    const all = [
      pull(9, 'agent/issue-3', 'Team/App'),
      pull(8, 'agent/issue-3', 'Team/App'),
      pull(7, 'agent/issue-33', 'team/app'),
      pull(6, 'agent/issue-3', 'eve/app'),
      pull(5, 'agent/issue-3', null),
    ];
    answer = (_, response) => json(response, 200, all);
    expect(await client(kind).openPullOf('agent/issue-3')).toEqual({
      ok: true,
      value: { number: 8, url: 'https://forge.example/pulls/8' },
    });
    expect(asked[0]?.url).toBe(path);
    answer = (_, response) => json(response, 200, []);
    expect(await client(kind).openPullOf('agent/issue-3')).toEqual({ ok: true, value: null });
  });

  it('a pull request is made', async () => {
    answer = (_, response) => json(response, 201, pull(9, 'x', 'team/app'));
    const wanted = { title: 't', body: 'b', head: 'x', base: 'main' };
    expect(await client().createPull(wanted)).toEqual({
      ok: true,
      value: { number: 9, url: 'https://forge.example/pulls/9' },
    });
    expect(asked[0]).toMatchObject({ method: 'POST', url: '/api/v1/repos/team/app/pulls' });
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual(wanted);
    answer = (_, response) => json(response, 409, { message: 'there is one' });
    expect(await client().createPull(wanted)).toMatchObject({ ok: false, status: 409 });
  });
});
