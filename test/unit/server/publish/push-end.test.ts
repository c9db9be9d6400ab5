import { describe, expect, it } from 'vitest';
import { pushEnv, withoutToken } from '../../../../src/server/publish/credentials.ts';
import { patienceMs } from '../../../../src/server/publish/pull-request.ts';
import { pushEnd } from '../../../../src/server/publish/push-end.ts';
import { onNewParent } from '../../../../src/server/publish/rebase.ts';

function reply(stdout: string, stderr = '', why = 'failed to push some refs') {
  return { ok: false, stdout: `To https://x/y.git\n${stdout}\nDone\n`, stderr, why };
}

describe('a push', () => {
  it('that went well', () => {
    expect(pushEnd({ ok: true, stdout: '', stderr: '', why: '' })).toEqual({ type: 'pushed' });
  });

  it.each([
    '!\ta:refs/heads/b\t[rejected] (fetch first)',
    '!\ta:refs/heads/b\t[rejected] (non-fast-forward)',
    "!\ta:refs/heads/b\t[remote rejected] (cannot lock ref 'refs/heads/b': is at 1 but expected 2)",
    '!\ta:refs/heads/b\t[remote rejected] (failed to update ref)',
  ])('whose branch has moved: %s', (line) => {
    expect(pushEnd(reply(line)).type).toBe('moved');
  });

  it.each([
    [
      'remote: \nremote: Gitea: Not allowed to push to protected branch main\nerror: failed',
      'Gitea: Not allowed to push to protected branch main (pre-receive hook declined)',
    ],
    [
      'remote: Resolving deltas: 100%\nremote: error: GH006: Protected branch update failed for refs/heads/main.\n',
      'error: GH006: Protected branch update failed for refs/heads/main. (pre-receive hook declined)',
    ],
    ['remote: ------\n', 'pre-receive hook declined'],
  ])('that the forge refuses, in its own words', (stderr, why) => {
    const line = '!\ta:refs/heads/b\t[remote rejected] (pre-receive hook declined)';
    expect(pushEnd(reply(line, stderr))).toEqual({ type: 'refused', why });
  });

  it.each([
    ["Authentication failed for 'https://x/y.git/'", 'refused'],
    ["unable to access 'https://x/y.git/': The requested URL returned error: 403", 'refused'],
    ["unable to access 'https://x/y.git/': The requested URL returned error: 301", 'refused'],
    ["could not read Username for 'https://x': terminal prompts disabled", 'refused'],
    ["unable to access 'https://x/y.git/': Failed to connect to x port 443", 'unsure'],
    ["unable to access 'https://x/y.git/': The requested URL returned error: 502", 'unsure'],
    ['the remote end hung up unexpectedly', 'unsure'],
    ['git took too long and was ended', 'unsure'],
  ])('without a line of its branch: %s is %s', (why, type) => {
    expect(pushEnd({ ok: false, stdout: '', stderr: `fatal: ${why}\n`, why }).type).toBe(type);
  });
});

describe('the token', () => {
  const API = 'https://git.example.org/api/v1';

  it('is given for the forge itself alone', () => {
    const env = pushEnv('https://git.example.org/team/app.git', API, 'tok-1');
    expect(env).toEqual({
      GIT_CONFIG_COUNT: '3',
      GIT_CONFIG_KEY_0: 'http.https://git.example.org/.extraHeader',
      GIT_CONFIG_VALUE_0: `Authorization: Basic ${Buffer.from('x-access-token:tok-1').toString('base64')}`,
      GIT_CONFIG_KEY_1: 'http.followRedirects',
      GIT_CONFIG_VALUE_1: 'false',
      GIT_CONFIG_KEY_2: 'credential.helper',
      GIT_CONFIG_VALUE_2: '',
    });
    expect(pushEnv('https://github.com/a/b', 'https://api.github.com', 't')).not.toEqual({});
  });

  it.each([
    'https://elsewhere.example.org/team/app.git',
    'http://git.example.org/team/app.git',
    'https://git.example.org:8443/team/app.git',
    'git@git.example.org:team/app.git',
    'ssh://git@git.example.org/team/app.git',
    '/srv/git/app.git',
    'https://git.example.org.evil.example/team/app.git',
  ])('is not given for %s', (url) => {
    expect(pushEnv(url, API, 'tok-1')).toEqual({});
  });

  it('is taken out of what is said, also in the form in which git sends it', () => {
    const basic = Buffer.from('x-access-token:tok-1').toString('base64');
    expect(withoutToken(`a tok-1 b ${basic}`, 'tok-1')).toBe('a *** b ***');
  });
});

describe('a commit on another parent', () => {
  it('keeps who made it and what it says, and loses a signature', () => {
    const head = 'tree 1\nparent 2\nauthor a <a@x> 1 +0000\ncommitter b <b@x> 2 +0000';
    const signed = `${head}\ngpgsig -----BEGIN\n line\n \n -----END`;
    const message = '\n\nA change\n\nparent 2 is not this\ntree 1\n';
    expect(onNewParent(signed + message, '8', '9')).toBe(
      `tree 8\nparent 9\nauthor a <a@x> 1 +0000\ncommitter b <b@x> 2 +0000${message}`,
    );
    expect(onNewParent(head + message, '8', '9')).toBe(
      `tree 8\nparent 9\nauthor a <a@x> 1 +0000\ncommitter b <b@x> 2 +0000${message}`,
    );
  });
});

it.each([
  [null, null, null],
  [500, null, null],
  [429, 1_000, null],
  [403, 60_000, null],
  [408, null, null],
  [404, null, 30_000],
  [409, null, 30_000],
  [422, null, 30_000],
  [403, null, 0],
  [401, null, 0],
  [301, null, 0],
])('a forge that answers %s and asks for %s ms is tried again for %s ms', (status, retryAfterMs, most) => {
  expect(patienceMs({ status, retryAfterMs })).toBe(most);
});
