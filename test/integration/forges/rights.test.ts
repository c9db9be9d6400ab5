import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ForgeClients } from '../../../src/server/forges/clients.ts';
import { systemClock } from '../../../src/shared/platform/clock.ts';
import { BOT, FakeForge } from '../../support/forge/forge.ts';
import type { Project } from '../../support/forge/state.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let forge: FakeForge;
let project: Project;
let tokenFile: string;

beforeEach(async () => {
  cleanup = new Cleanup();
  forge = await FakeForge.start(cleanup);
  project = forge.project('team/app');
  tokenFile = path.join(cleanup.tempDir(), 'token');
});
afterEach(() => cleanup.run());

/** With a token of this user with these scopes. */
async function rights(
  login: string,
  scopes: readonly string[] = ['repository', 'issue', 'user'],
  name = 'team/app',
) {
  forge.token('tok', login, scopes);
  writeFileSync(tokenFile, 'tok');
  const clients = new ForgeClients({ forges: { get: async () => null }, clock: systemClock });
  return clients.of({ kind: 'gitea', apiUrl: forge.apiUrl, project: name, tokenFile }).rights();
}

describe('the rights of a token', () => {
  it('are whole for an administrator’s with all scopes, and finding that out changes nothing', async () => {
    expect(await rights(BOT)).toEqual({ ok: true, value: { login: BOT, missing: [] } });
    expect([project.statuses, [...project.comments]]).toEqual([[], []]);
  });

  it.each([
    ['is no administrator', 'writer', undefined, /no administrator of the repository/],
    ['may only read', 'reader', undefined, /may not write, so it can set no commit status/],
    ['has no scope for statuses', BOT, ['issue', 'user'], /^the token may not set a commit status$/],
    ['has no scope for comments', BOT, ['repository', 'user'], /^the token may not write a comment$/],
    ['cannot see the repository', 'stranger', undefined, /^stranger cannot see the repository$/],
  ])('say what is missing where it %s', async (_, login, scopes, missing) => {
    forge.user(project, 'writer', 'write');
    forge.user(project, 'reader', 'read');
    const reply = await rights(login, scopes);
    expect(reply.ok && reply.value.missing).toEqual(expect.arrayContaining([expect.stringMatching(missing)]));
  });

  it('cannot be told of a token that the forge does not know, or that may not even ask who it is', async () => {
    expect(await rights(BOT, [])).toMatchObject({ ok: false, status: 403 });
    forge.state.tokens.clear();
    writeFileSync(tokenFile, 'unknown');
    const clients = new ForgeClients({ forges: { get: async () => null }, clock: systemClock });
    const client = clients.of({ kind: 'gitea', apiUrl: forge.apiUrl, project: 'team/app', tokenFile });
    expect(await client.rights()).toMatchObject({ ok: false, status: 401 });
  });
});
