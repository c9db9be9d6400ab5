import ssh2 from 'ssh2';
import { expect, test } from 'vitest';
import { makeKeyPair } from '../../../../src/shared/protocol/key-pair.ts';
import { parsePublicKey } from '../../../../src/shared/public-key.ts';

test('every key pair signs and verifies, also one in hundreds that begins with a zero', () => {
  for (let round = 0; round < 600; round++) {
    const pair = makeKeyPair('a comment');
    const secret = ssh2.utils.parseKey(pair.privateKey);
    const open = ssh2.utils.parseKey(pair.publicKey);
    if (secret instanceof Error) throw secret;
    if (open instanceof Error) throw open;
    expect(open.verify('text', secret.sign('text'))).toBe(true);
    expect(secret.getPublicSSH().equals(open.getPublicSSH())).toBe(true);
    expect(parsePublicKey(pair.publicKey).ok).toBe(true);
  }
});
