import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadHostKey } from '../../src/server/ssh/host-key.ts';
import { makeKeyPair } from '../../src/shared/protocol/key-pair.ts';
import { parsePublicKey } from '../../src/shared/public-key.ts';
import { Cleanup } from '../support/temp.ts';

let cleanup: Cleanup;
let file: string;

beforeEach(() => {
  cleanup = new Cleanup();
  file = path.join(cleanup.tempDir(), 'host-key');
});
afterEach(() => cleanup.run());

test('the host key is made at first start, for its owner alone, and kept', async () => {
  const made = await loadHostKey(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(made.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  const text = readFileSync(file);
  expect(await loadHostKey(file)).toEqual(made);
  expect(readFileSync(file).equals(text)).toBe(true);
});

test('two that start at once have the same key', async () => {
  const keys = await Promise.all(Array.from({ length: 4 }, () => loadHostKey(file)));
  expect(new Set(keys.map(({ fingerprint }) => fingerprint)).size).toBe(1);
});

test('the fingerprint is that of the key', async () => {
  const pair = makeKeyPair();
  writeFileSync(file, pair.privateKey, { mode: 0o600 });
  const parsed = parsePublicKey(pair.publicKey);
  expect((await loadHostKey(file)).fingerprint).toBe(parsed.ok && parsed.key.fingerprint);
});

test.each([
  { what: 'rubbish', text: 'rubbish' },
  { what: 'an empty file', text: '' },
  { what: 'a public key', text: makeKeyPair().publicKey },
])('$what is not taken for a host key, and is not replaced', async ({ text }) => {
  writeFileSync(file, text);
  await expect(loadHostKey(file)).rejects.toMatchObject({
    code: 'io-error',
    message: expect.stringContaining(file),
  });
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('one that cannot be read is named', async () => {
  mkdirSync(file, { mode: 0o700 });
  await expect(loadHostKey(file)).rejects.toMatchObject({ code: 'io-error' });
});
