import ssh2, { type AuthContext } from 'ssh2';
import type { AccountStore } from '../store/store.ts';

export interface Authenticated {
  readonly account: string;
  /** `ssh-ed25519 AAAA...`, as the store has it. */
  readonly publicKey: string;
}

/**
 * Whether a request to authenticate may go on: by public key alone, and only a key of the account
 * that the user name names. A request without a signature asks whether the key would do.
 */
export async function authenticate(
  context: AuthContext,
  accounts: Pick<AccountStore, 'accountOf'>,
): Promise<Authenticated | null> {
  if (context.method !== 'publickey') return null;
  const { data } = context.key;
  // The algorithm of the request may name a hash (`rsa-sha2-512`); the key itself says its type.
  const publicKey = `${typeOf(data)} ${data.toString('base64')}`;
  if ((await accounts.accountOf(publicKey)) !== context.username) return null;
  if (context.signature) {
    const key = ssh2.utils.parseKey(publicKey);
    if (key instanceof Error || !context.blob) return null;
    // An Error where the signature is malformed, whatever its type says.
    const verdict: unknown = key.verify(context.blob, context.signature, context.hashAlgo);
    if (verdict !== true) return null;
  }
  return { account: context.username, publicKey };
}

function typeOf(blob: Buffer): string {
  return blob.length < 4 ? '' : blob.toString('latin1', 4, 4 + blob.readUInt32BE(0));
}
