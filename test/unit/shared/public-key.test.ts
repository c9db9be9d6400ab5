import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parsePublicKey } from '../../../src/shared/public-key.ts';

/** Made with ssh-keygen, whose `-l` printed the fingerprints. */
const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPdGgNtpfMtX2P9WtLnya1AgnaW8UDKsYjnY8QiP7XRM';
const ED25519_FINGERPRINT = 'SHA256:gsnXPa9YHyZZg8wJBFQiBeEQV2IGmWljTKcbd082EHY';

function field(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function line(type: string, ...fields: Buffer[]): string {
  return `${type} ${Buffer.concat([Buffer.from(type), ...fields].map(field)).toString('base64')}`;
}

describe('a public key', () => {
  it('has the fingerprint that ssh-keygen prints, and loses its comment', () => {
    expect(parsePublicKey(`${ED25519} someone@somewhere with words\n`)).toEqual({
      ok: true,
      key: { publicKey: ED25519, fingerprint: ED25519_FINGERPRINT },
    });
  });

  it('may be RSA or ECDSA', () => {
    const rsa = line('ssh-rsa', Buffer.from([1, 0, 1]), Buffer.alloc(257, 7));
    expect(parsePublicKey(rsa)).toMatchObject({ ok: true, key: { publicKey: rsa } });
    const ecdsa = line('ecdsa-sha2-nistp256', Buffer.from('nistp256'), Buffer.alloc(65, 4));
    expect(parsePublicKey(ecdsa)).toMatchObject({ ok: true });
  });

  it('is not seen in a file of something else, however many lines that has', () => {
    const text = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:1:1::/:/bin/false\n';
    expect(parsePublicKey(text)).toMatchObject({
      ok: false,
      fault: expect.stringContaining('no public key'),
    });
    expect(parsePublicKey(`${ED25519}\n${ED25519}\n`)).toMatchObject({
      ok: false,
      fault: expect.stringContaining('more than one line'),
    });
  });

  it('that is a private one is refused without being repeated', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const text = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const parsed = parsePublicKey(text);
    expect(parsed).toMatchObject({ ok: false, fault: expect.stringContaining('private key') });
    expect(JSON.stringify(parsed)).not.toContain(text.split('\n')[1]);
  });

  it.each([
    ['nothing', '', 'no key'],
    ['words', 'hello world', 'no public key'],
    ['a certificate', 'ssh-ed25519-cert-v01@openssh.com AAAA', 'no public key'],
    ['one that a prototype has', 'constructor AAAA', 'no public key'],
    ['one cut short', ED25519.slice(0, -8), 'damaged'],
    ['one of another type than it says', ED25519.replace('ssh-ed25519', 'ssh-rsa'), 'damaged'],
    ['one of no base64', 'ssh-ed25519 !!!!', 'damaged'],
    ['two', `${ED25519}\n${ED25519}`, 'more than one'],
    ['a short RSA', line('ssh-rsa', Buffer.from([3]), Buffer.alloc(64, 7)), '1024'],
    ['an Ed25519 of 31 bytes', line('ssh-ed25519', Buffer.alloc(31)), '32 bytes'],
  ])('that is %s is refused', (_what, text, why) => {
    expect(parsePublicKey(text)).toMatchObject({ ok: false, fault: expect.stringContaining(why) });
  });
});
