import { describe, expect, it } from 'vitest';
import { createApp } from '../../../../src/server/web/app.ts';
import { aRun, aSession, Parts, TOKEN } from '../../../support/web-parts.ts';

interface Ask {
  method?: string;
  token?: string | null;
  host?: string;
  body?: string | Uint8Array;
  accept?: string;
}

async function ask(
  parts: Parts,
  path: string,
  { method = 'GET', token = null, host, body, accept }: Ask = {},
) {
  const headers: Record<string, string> = { host: host ?? 'localhost:8080' };
  if (token !== null) headers['authorization'] = `Bearer ${token}`;
  if (accept !== undefined) headers['accept'] = accept;
  if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body));
  return createApp(parts.parts()).request(path, { method, headers, ...(body === undefined ? {} : { body }) });
}

const READS = [
  '/',
  '/runs/1',
  '/runners',
  '/runners.json',
  '/pipelines',
  '/pipelines/1',
  '/api/runs',
  '/api/runs/1',
  '/api/runs/1/log',
  '/api/runs/1/artifacts',
  '/api/pipelines',
  '/api/pipelines/1',
  '/api/runners',
  '/api/repos',
  '/assets/vole.css',
];
const ADMIN: readonly (readonly [string, string])[] = [
  ['GET', '/api/keys'],
  ['GET', '/api/repos/team/app/secrets'],
  ['POST', '/api/runs/1/cancel'],
  ['POST', '/api/runs/1/retry'],
  ['POST', '/api/pipelines/1/retry'],
  ['POST', '/api/pipelines'],
  ['POST', '/api/repos'],
  ['PATCH', '/api/repos/team/app'],
  ['DELETE', '/api/repos/team/app'],
  ['POST', '/api/keys'],
  ['DELETE', '/api/keys/build1'],
  ['PUT', '/api/repos/team/app/secrets/TOKEN'],
  ['DELETE', '/api/repos/team/app/secrets/TOKEN'],
  ['POST', '/nothing/here'],
];

function filled(): Parts {
  const parts = new Parts();
  parts.runs = [aRun()];
  const { repository, event, ref, sha, trust } = aRun();
  parts.pipelines = [
    {
      id: 1,
      repository,
      event,
      ref,
      sha,
      trust,
      title: 'subject',
      fault: null,
      retryOf: null,
      createdAt: 1,
      runs: [1],
    },
  ];
  parts.repositories = [{ name: 'team/app', cloneUrl: '/srv/app', maxJobs: null, forge: null, addedAt: 1 }];
  return parts;
}

describe('who gets an answer', () => {
  it.each(READS)('GET %s: anybody on loopback, elsewhere with the token alone', async (path) => {
    const parts = filled();
    expect((await ask(parts, path)).status).toBe(200);
    expect((await ask(parts, path, { host: 'evil.example' })).status).toBe(421);
    parts.host = '0.0.0.0';
    expect((await ask(parts, path)).status).toBe(401);
    expect((await ask(parts, path, { token: 'wrong' })).status).toBe(401);
    expect((await ask(parts, path, { token: TOKEN })).status).toBe(200);
  });

  it.each(ADMIN)('%s %s: with the token alone, on loopback too', async (method, path) => {
    const parts = filled();
    for (const token of [null, 'wrong']) {
      const reply = await ask(parts, path, { method, token });
      expect(reply.status).toBe(401);
      expect(await reply.json()).toMatchObject({ error: { code: 'auth-refused' } });
    }
    expect((await ask(parts, path, { method, token: TOKEN, host: 'evil.example' })).status).toBe(421);
    expect((await ask(parts, path, { method, token: TOKEN })).status).not.toBe(401);
  });

  it('whether it lives is said to everybody', async () => {
    const parts = filled();
    parts.host = '0.0.0.0';
    expect(await (await ask(parts, '/healthz', { host: 'whatever' })).json()).toEqual({ ok: true });
  });
});

describe('a page', () => {
  it('shows what strangers wrote as text and loads nothing from elsewhere', async () => {
    const evil = '<script>alert(1)</script>"\'><img src=x onerror=alert(1)>';
    const parts = filled();
    parts.runs = [aRun({ job: evil, detail: evil, machine: evil, ref: `refs/heads/${evil}` })];
    parts.log = Buffer.from(`5 1 o ${evil}\n6 1 e \u001b[31mred\u001b[0m\n`);
    parts.sessions = [
      aSession({
        machine: evil,
        account: evil,
        version: evil,
        labels: [evil],
        process: evil,
        run: { id: 1, attempt: 1, repository: evil, job: evil, since: 1, cpus: 1, memoryBytes: 0 },
      }),
    ];
    parts.pipelines = parts.pipelines.map((pipeline) => ({ ...pipeline, title: evil, fault: evil }));
    for (const path of ['/', '/runs/1', '/runners', '/pipelines', '/pipelines/1']) {
      const reply = await ask(parts, path);
      const text = await reply.text();
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('<img');
      expect(text).toContain('&lt;script&gt;');
      expect(text).not.toContain('\u001b');
      const policy = reply.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain('unsafe-inline');
      expect(text.match(/<script[^>]*>/g)).toEqual(['<script src="/assets/page.js" defer>']);
      expect(text).not.toMatch(/ on\w+="/);
    }
  });

  it('says how many slots of a machine are busy, and what each runs since when', async () => {
    const parts = filled();
    const run = {
      id: 1,
      attempt: 1,
      repository: 'team/app',
      job: 'test',
      since: 8_000,
      cpus: 1,
      memoryBytes: 0,
    };
    parts.sessions = [
      aSession({ run }),
      aSession({ id: 's2', slot: 1, run: { ...run, id: 2 } }),
      aSession({ id: 's3', slot: 2 }),
      aSession({ id: 's4', slot: 3 }),
      aSession({ id: 'probe', slot: -1 }),
    ];
    const page = await (await ask(parts, '/runners')).text();
    expect(page).toContain('2 of 4 busy');
    expect(page).toContain('href="/runs/2"');
    expect(page).toContain('2 s ago');
    for (const reply of [
      await ask(parts, '/runners.json'),
      await ask(parts, '/runners', { accept: 'application/json' }),
    ])
      expect(await reply.json()).toMatchObject({
        machines: [
          {
            machine: 'host1',
            busy: 2,
            slots: 4,
            sessions: [{ slot: 0 }, { slot: 1 }, { slot: 2 }, { slot: 3 }],
          },
        ],
      });
  });

  it('says of several processes of a machine that each offers its cores', async () => {
    const parts = filled();
    parts.sessions = [aSession({})];
    expect(await (await ask(parts, '/runners')).text()).not.toContain('offer together');
    parts.sessions = [aSession({}), aSession({ id: 's2', process: 'another' })];
    expect(await (await ask(parts, '/runners')).text()).toContain(
      'cores that its 2 processes offer together',
    );
  });

  it('of a run or pipeline that did not pass says by which command it is executed again, and of which one it is a retry', async () => {
    const parts = filled();
    const text = async (path = '/runs/1') => (await ask(parts, path)).text();
    for (const [change, shown] of [
      [{ state: 'failed' }, true],
      [{ state: 'cancelled' }, true],
      [{ state: 'passed' }, false],
      [{ state: 'running' }, false],
      [{ state: 'failed', kind: 'command' }, false],
    ] as const) {
      parts.runs = [aRun(change)];
      expect((await text()).includes('vole retry 1')).toBe(shown);
      expect((await text('/pipelines/1')).includes('vole retry --pipeline 1')).toBe(shown);
    }
    parts.runs = [aRun({ state: 'failed' }), aRun({ id: 2 })];
    expect(await text('/pipelines/1')).not.toContain('vole retry');
    expect(await text()).not.toContain('a retry of');
    parts.runs = [aRun({ retryOf: 7 })];
    expect(await text()).toContain('a retry of <a href="/pipelines/7">7</a>');
  });

  it('of an address where nothing is is a page for a browser, and a code for programs and of the API', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const page = await ask(filled(), '/nothing', { accept });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=UTF-8']);
    expect(await page.text()).toContain('there is nothing at this address');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const [path, asked] of [
      ['/nothing', {}],
      ['/nothing', { accept: '*/*' }],
      ['/api/nothing', { accept }],
    ] as const) {
      const reply = await ask(filled(), path, asked);
      expect(reply.status).toBe(404);
      expect(await reply.json()).toMatchObject({ error: { code: 'not-found' } });
    }
  });

  it('of a run that is not there is a page that says so', async () => {
    const reply = await ask(filled(), '/runs/99');
    expect(reply.status).toBe(404);
    expect(await reply.text()).toContain('no run 99');
  });
});

describe('a fault', () => {
  it.each([
    ['GET', '/api/runs/99', undefined, 404, 'not-found'],
    ['GET', '/api/runs/x', undefined, 404, 'not-found'],
    ['GET', '/api/runs/1/artifacts/..%2f..%2fetc%2fpasswd', undefined, 404, 'not-found'],
    ['GET', '/api/runs?limit=0', undefined, 400, 'usage'],
    ['GET', '/api/runs?state=dead', undefined, 400, 'usage'],
    ['GET', '/api/runs/1/log?offset=-1', undefined, 400, 'usage'],
    ['GET', '/api/runs/1/log?attempt=9', undefined, 404, 'not-found'],
    ['GET', '/api/runs/1/log?offset=7', undefined, 416, 'usage'],
    ['GET', '/nothing', undefined, 404, 'not-found'],
    ['POST', '/api/repos', 'no json', 400, 'usage'],
    ['POST', '/api/repos', '{"name":"../x","cloneUrl":"/srv/x"}', 400, 'usage'],
    ['POST', '/api/repos', '{"name":"a/b","cloneUrl":"--upload-pack=x"}', 400, 'usage'],
    ['POST', '/api/repos', '{"name":"team/app","cloneUrl":"/srv/x"}', 400, 'usage'],
    ['POST', '/api/repos', `{"name":"${'x'.repeat(200_000)}"}`, 413, 'usage'],
    ['POST', '/api/keys', '{"account":"a","publicKey":"-----BEGIN OPENSSH PRIVATE KEY-----"}', 400, 'usage'],
    ['POST', '/api/runs/99/cancel', undefined, 404, 'not-found'],
    ['POST', '/api/runs/99/retry', undefined, 404, 'not-found'],
    ['POST', '/api/pipelines/x/retry', undefined, 404, 'not-found'],
    ['POST', '/api/pipelines/1/retry', '{"runs":[]}', 400, 'usage'],
  ])('of %s %s is one line with a code', async (method, path, body, status, code) => {
    const parts = filled();
    const reply = await ask(parts, path, { method, token: TOKEN, ...(body === undefined ? {} : { body }) });
    const { error } = (await reply.json()) as { error: { code: string; message: string } };
    expect([reply.status, error.code]).toEqual([status, code]);
    expect(error.message).not.toContain('\n');
    expect(parts.faults).toEqual([]);
  });

  it("of vole's own keeps its words and its stack for the server's log", async () => {
    const parts = filled();
    parts.runs = new Proxy([], {
      get: () => {
        throw new Error('the secret inner workings');
      },
    });
    const reply = await ask(parts, '/api/runs');
    expect(reply.status).toBe(500);
    const text = await reply.text();
    expect(text).toContain('"internal"');
    expect(text).not.toContain('inner workings');
    expect(parts.faults).toHaveLength(1);
  });
});

describe('the log of a run', () => {
  it('comes from an offset, with the next one', async () => {
    const parts = filled();
    parts.log = Buffer.from('0123456789');
    const reply = await ask(parts, '/api/runs/1/log?offset=4&maxBytes=3');
    expect(await reply.text()).toBe('456');
    expect(reply.headers.get('vole-next-offset')).toBe('7');
    expect(reply.headers.get('vole-attempt')).toBe('1');
    expect(reply.headers.get('content-type')).toContain('text/plain');
  });
});

describe('a run', () => {
  it('comes with why it waits and its siblings while it is queued', async () => {
    const parts = filled();
    parts.sessions = [aSession()];
    parts.runs = [aRun({ state: 'queued', attempt: 0 }), aRun({ id: 2, job: 'lint', state: 'passed' })];
    expect(await (await ask(parts, '/api/runs/1')).json()).toMatchObject({
      wait: { reasons: [{ code: 'next' }], place: 1 },
      siblings: [{ id: 2, job: 'lint', state: 'passed' }],
    });
    expect(await (await ask(parts, '/api/runs/2')).json()).toMatchObject({ wait: null });
  });
});
