import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkedUrl, locator } from '../../../../src/cli/client/locate.ts';
import { Cleanup } from '../../../support/temp.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const none = { data: null, url: null, tokenFile: null };

describe('where the server is', () => {
  it('has to be said', () => {
    expect(() => locator(none)).toThrow(/--data DIR .* --url URL/);
  });

  it('is read from the data directory each time', async () => {
    const data = cleanup.tempDir();
    const locate = locator({ ...none, data });
    await expect(locate()).resolves.toBeNull();
    const facts = {
      http: 'http://127.0.0.1:1',
      ssh: '127.0.0.1:2',
      token: 't',
      fingerprint: 'SHA256:x',
      pid: 1,
    };
    for (const http of ['http://127.0.0.1:1', 'http://127.0.0.1:3']) {
      writeFileSync(path.join(data, 'server.json'), JSON.stringify({ ...facts, http }));
      await expect(locate()).resolves.toEqual({ url: http, token: 't' });
    }
    writeFileSync(path.join(data, 'server.json'), '{"http":');
    await expect(locate()).rejects.toMatchObject({ code: 'io-error' });
  });

  it('is the URL where one is given, with the token of the file', async () => {
    const dir = cleanup.tempDir();
    const tokenFile = path.join(dir, 'token');
    writeFileSync(tokenFile, ' word\n');
    const settings = { data: dir, url: 'http://ci.example:8080/', tokenFile };
    await expect(locator(settings)()).resolves.toEqual({ url: 'http://ci.example:8080', token: 'word' });
    writeFileSync(tokenFile, 'two words');
    await expect(locator(settings)()).rejects.toMatchObject({ code: 'usage' });
    mkdirSync(path.join(dir, 'd'));
    await expect(locator({ ...settings, tokenFile: path.join(dir, 'd') })()).rejects.toMatchObject({
      code: 'io-error',
    });
  });

  it.each(['ftp://x', 'nonsense', 'http://user:pw@host', 'http://host/?token=x'])('is not %s', (url) => {
    expect(() => checkedUrl(url)).toThrow(/--url/);
  });
});
