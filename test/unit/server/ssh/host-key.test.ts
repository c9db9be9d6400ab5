import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hostKeysFrom } from '../../../../src/runner/session/keys.ts';
import { loadHostKey } from '../../../../src/server/ssh/host-key.ts';
import { Cleanup } from '../../../support/temp.ts';

let cleanup: Cleanup;
let file: string;

beforeEach(() => {
  cleanup = new Cleanup();
  file = path.join(cleanup.tempDir('vole-host-key-'), 'host-key');
});
afterEach(() => cleanup.run());

test('a host key is made once, for its owner alone, with a public part that runners take', async () => {
  const made = await loadHostKey(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await loadHostKey(file)).toEqual(made);
  expect(hostKeysFrom(`${file}.pub`, '/')).toEqual([made.fingerprint]);
});

test('starts at the same moment never end with two keys', async () => {
  const keys = await Promise.all([loadHostKey(file), loadHostKey(file)].map((key) => key.catch(() => null)));
  const fingerprints = new Set(keys.flatMap((key) => (key ? [key.fingerprint] : [])));
  expect([...fingerprints]).toEqual([(await loadHostKey(file)).fingerprint]);
});

test('a host key that others may read is refused with the remedy', async () => {
  await loadHostKey(file);
  chmodSync(file, 0o640);
  await expect(loadHostKey(file)).rejects.toMatchObject({
    code: 'io-error',
    message: `host key ${file} has mode 0640: others may use it; chmod 600 it`,
  });
});

test('a file that is no key is named, and stays as it is', async () => {
  writeFileSync(file, 'no key\n', { mode: 0o600 });
  await expect(loadHostKey(file)).rejects.toThrow(/host key .* is no Ed25519 private key/);
  expect(readFileSync(file, 'utf8')).toBe('no key\n');
});
