import { createHash } from 'node:crypto';

export interface PublicKey {
  /** `ssh-ed25519 AAAA...`, without comment. */
  readonly publicKey: string;
  /** `SHA256:...`, as `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
}

export type ParsedPublicKey = { ok: true; key: PublicKey } | { ok: false; fault: string };

/** How many strings follow the type in the key's blob, for each type that the server can verify. */
const FIELDS: Readonly<Record<string, number>> = {
  'ssh-ed25519': 1,
  'ssh-rsa': 2,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
};
const ED25519_BYTES = 32;
/** A shorter RSA key can be factored. */
const RSA_MIN_BYTES = 128;

export function looksPrivate(text: string): boolean {
  return /^\s*-----BEGIN |^\s*PuTTY-User-Key-File/.test(text);
}

/** `SHA256:...` of a public key as SSH has it on the wire. */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** One line as in a `.pub` file. Never repeats what it was given: it might be a private key. */
export function parsePublicKey(text: string): ParsedPublicKey {
  if (looksPrivate(text))
    return fault('this is a private key: give the file that ends in .pub, and keep this one to yourself');
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const [line, second] = lines;
  if (line === undefined) return fault('there is no key in it');
  const [type = '', encoded = ''] = line.trim().split(/[ \t]+/);
  const fields = Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined;
  if (fields === undefined) {
    const known = Object.keys(FIELDS).join(', ');
    return fault(`this is no public key of a known type (${known}) in OpenSSH's format`);
  }
  if (second !== undefined) return fault('there is more than one line in it: give the .pub file of one key');
  const blob = Buffer.from(encoded, 'base64');
  if (blob.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, ''))
    return fault('the key is damaged: it is no base64');
  const parts = strings(blob);
  if (parts === null || parts.length !== fields + 1 || parts[0]?.toString('latin1') !== type)
    return fault('the key is damaged: it is cut short, or its type is another one than it says');
  if (type === 'ssh-ed25519' && parts[1]?.length !== ED25519_BYTES)
    return fault('the key is damaged: an Ed25519 key has 32 bytes');
  if (type === 'ssh-rsa' && (parts[2]?.length ?? 0) < RSA_MIN_BYTES)
    return fault('the RSA key is shorter than 1024 bits');
  return {
    ok: true,
    key: { publicKey: `${type} ${blob.toString('base64')}`, fingerprint: fingerprintOf(blob) },
  };
}

function fault(fault: string): ParsedPublicKey {
  return { ok: false, fault };
}

/** The length-prefixed strings that make up a blob; null where they do not fill it exactly. */
function strings(blob: Buffer): Buffer[] | null {
  const found: Buffer[] = [];
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length) return null;
    const length = blob.readUInt32BE(at);
    if (at + 4 + length > blob.length) return null;
    found.push(blob.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return found;
}
