import { generateKeyPairSync, randomBytes } from 'node:crypto';

export interface KeyPair {
  /** OpenSSH format, without passphrase. */
  readonly privateKey: Buffer;
  /** `ssh-ed25519 AAAA...`, without comment. */
  readonly publicKey: string;
}

const TYPE = 'ssh-ed25519';
const LINE = 70;

/**
 * A new Ed25519 key in OpenSSH's format. Written here because ssh2's own generator gives a key that
 * it cannot use itself in one of some two hundred cases (it drops a leading zero byte).
 */
export function makeKeyPair(comment = ''): KeyPair {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d, x } = privateKey.export({ format: 'jwk' });
  const seed = Buffer.from(d ?? '', 'base64url');
  const point = Buffer.from(x ?? '', 'base64url');
  const blob = Buffer.concat([string(TYPE), string(point)]);
  const check = randomBytes(4);
  const secret = Buffer.concat([check, check, blob, string(Buffer.concat([seed, point])), string(comment)]);
  const padding = Buffer.from(Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, at) => at + 1));
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    string('none'),
    string('none'),
    string(''),
    uint32(1),
    string(blob),
    string(Buffer.concat([secret, padding])),
  ]).toString('base64');
  const lines = whole.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  const text = ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''];
  return { privateKey: Buffer.from(text.join('\n')), publicKey: `${TYPE} ${blob.toString('base64')}` };
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function string(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([uint32(bytes.length), bytes]);
}
