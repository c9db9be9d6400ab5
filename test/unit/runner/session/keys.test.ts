import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hostKeysFrom, newKeyPair, readPrivateKey } from '../../../../src/runner/session/keys.ts';
import { parsePublicKey } from '../../../../src/shared/public-key.ts';
import { Cleanup } from '../../../support/temp.ts';

let cleanup: Cleanup;
let dir: string;
const pair = newKeyPair();
const parsed = parsePublicKey(pair.publicKey);
const fingerprint = parsed.ok ? parsed.key.fingerprint : '';

beforeEach(() => {
  cleanup = new Cleanup();
  dir = cleanup.tempDir();
});
afterEach(() => cleanup.run());

function file(text: string | Buffer): string {
  const name = path.join(dir, 'file');
  writeFileSync(name, text);
  return name;
}

test('a private key is read as it is', () => {
  expect(readPrivateKey(file(pair.privateKey))).toEqual(pair.privateKey);
});

test.each([
  { what: 'rubbish', text: 'rubbish', says: 'no private key' },
  { what: 'nothing', text: '', says: 'no private key' },
  { what: 'a public key', text: `${pair.publicKey} me\n`, says: 'public key' },
])('$what is no private key', ({ text, says }) => {
  expect(() => readPrivateKey(file(text))).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining(says) }),
  );
});

test('a key file that is not there, or is a folder, is named', () => {
  const missing = path.join(dir, 'missing');
  expect(() => readPrivateKey(missing)).toThrow(
    expect.objectContaining({ code: 'not-found', message: expect.stringContaining(missing) }),
  );
  mkdirSync(path.join(dir, 'folder'));
  expect(() => readPrivateKey(path.join(dir, 'folder'))).toThrow(
    expect.objectContaining({ code: 'io-error' }),
  );
});

test('a host key is a fingerprint, a public key or lines of a known_hosts file', () => {
  expect(hostKeysFrom(fingerprint, dir)).toEqual([fingerprint]);
  expect(hostKeysFrom(`${fingerprint}=`, dir)).toEqual([fingerprint]);
  file(`# a comment\n${pair.publicKey} server\n\n[ci.example]:2222 ${pair.publicKey}\n`);
  expect(hostKeysFrom('file', dir)).toEqual([fingerprint, fingerprint]);
});

test.each(['SHA256:short', `SHA256:${'?'.repeat(43)}`])('%s is no fingerprint', (text) => {
  expect(() => hostKeysFrom(text, dir)).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('a file without a public key is no host key, and a private one is not repeated', () => {
  expect(() => hostKeysFrom(file('rubbish'), dir)).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(() => hostKeysFrom(file('\n'), dir)).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(() => hostKeysFrom(file(pair.privateKey), dir)).toThrow(
    expect.objectContaining({ message: expect.stringContaining('private') }),
  );
  expect(() => hostKeysFrom('not-there', dir)).toThrow(expect.objectContaining({ code: 'not-found' }));
});
