import { expect, it } from 'vitest';
import { forgeOf } from '../../../src/cli/forge-options.ts';
import { recordedContext } from '../../support/cli-context.ts';

it('a token file is a path of this host only where the server is here', () => {
  const options = { forge: 'github', forgeTokenFile: 'bot-token' };
  const fileOf = (given: object, env: Record<string, string> = {}) =>
    forgeOf({ ...options, ...given }, recordedContext({ cwd: '/there', env }))?.tokenFile;
  expect(fileOf({ data: '/data' })).toBe('/there/bot-token');
  const elsewhere = { url: 'http://127.0.0.1:1', forgeTokenFile: '/etc/token' };
  expect(fileOf(elsewhere)).toBe('/etc/token');
  // relative, so that it is refused, whichever way the URL was given
  expect(() => fileOf({ url: elsewhere.url })).toThrow(/bot-token/);
  expect(() => fileOf({}, { VOLE_URL: elsewhere.url })).toThrow(/bot-token/);
  // a directory that was given is meant, and one of the environment is not
  expect(fileOf({ data: '/data' }, { VOLE_URL: elsewhere.url })).toBe('/there/bot-token');
  expect(() => fileOf({}, { VOLE_URL: elsewhere.url, VOLE_DATA: '/data' })).toThrow(/bot-token/);
});
