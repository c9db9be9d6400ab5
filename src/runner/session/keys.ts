import { readFileSync } from 'node:fs';
import path from 'node:path';
import ssh2 from 'ssh2';
import { oneLine, VoleError } from '../../shared/errors.ts';
import { type KeyPair, makeKeyPair } from '../../shared/protocol/key-pair.ts';
import { fingerprintOf, looksPrivate, parsePublicKey } from '../../shared/public-key.ts';

/** A key pair of an account that lives no longer than this process. */
export function newKeyPair(): KeyPair {
  return makeKeyPair();
}

/** The account's private key, checked here so that a bad one is named before anything connects. */
export function readPrivateKey(file: string): Buffer {
  const bytes = read('--key', file);
  const key = ssh2.utils.parseKey(bytes);
  if (key instanceof Error) {
    const why = /passphrase|encrypted/i.test(key.message)
      ? 'it has a passphrase; a runner needs a key without one'
      : "it is no private key in OpenSSH's format";
    throw new VoleError('usage', `--key ${file}: ${why}`, { cause: key });
  }
  if (!key.isPrivateKey())
    throw new VoleError('usage', `--key ${file}: it is a public key; give the private one`);
  return bytes;
}

/** `SHA256:...` of its public part; what it is where it is no key. */
export function fingerprintOfPrivate(privateKey: Buffer): string {
  const key = ssh2.utils.parseKey(privateKey);
  return key instanceof Error ? 'which is none' : fingerprintOf(key.getPublicSSH());
}

/**
 * `SHA256:...` fingerprints of the host keys that are accepted: the text itself, or those of a file
 * that holds one public key a line, as in a `.pub` or a `known_hosts` file.
 */
export function hostKeysFrom(textOrFile: string, cwd: string): string[] {
  if (textOrFile.startsWith('SHA256:')) {
    const fingerprint = textOrFile.replace(/=$/, '');
    if (!/^SHA256:[A-Za-z0-9+/]{43}$/.test(fingerprint))
      throw new VoleError(
        'usage',
        `--host-key '${textOrFile}': a fingerprint is SHA256: and 43 characters of base64`,
      );
    return [fingerprint];
  }
  const file = path.resolve(cwd, textOrFile);
  const text = read('--host-key', file).toString('utf8');
  if (looksPrivate(text))
    throw new VoleError('usage', `--host-key ${file}: it is a private key; give the server's public one`);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  if (lines.length === 0) throw new VoleError('usage', `--host-key ${file}: there is no key in it`);
  return lines.map((line) => fingerprintIn(line, file));
}

function fingerprintIn(line: string, file: string): string {
  const parts = line.trim().split(/\s+/);
  const known = [parts, parts.slice(1)].map((words) => parsePublicKey(words.join(' ')));
  const key = known.find((parsed) => parsed.ok);
  if (key?.ok) return key.key.fingerprint;
  const [first] = known;
  throw new VoleError('usage', `--host-key ${file}: ${first && !first.ok ? first.fault : 'no key'}`);
}

function read(flag: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new VoleError(
      missing ? 'not-found' : 'io-error',
      missing ? `${flag} ${file}: there is no such file` : `${flag} ${file}: ${oneLine(error)}`,
      { cause: error },
    );
  }
}
