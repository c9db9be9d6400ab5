import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/**
 * AES-256-GCM, as `1, 12 bytes nonce, 16 bytes tag, ciphertext`. Repository and name are authenticated
 * with it: a sealed value copied to another row of the database does not open there.
 */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const KEY_BYTES = 32;

function boundTo(repository: string, name: string): Buffer {
  return Buffer.from(['vole-secret', repository, name].join('\0'));
}

export function seal(key: Buffer, repository: string, name: string, value: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(repository, name));
  const body = Buffer.concat([cipher.update(value), cipher.final()]);
  return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), body]);
}

/** Null where the key is another one, or repository or name are, or a byte has changed. */
export function unseal(key: Buffer, repository: string, name: string, sealed: Buffer): Buffer | null {
  const head = 1 + NONCE_BYTES + TAG_BYTES;
  if (sealed.length < head || sealed[0] !== VERSION) return null;
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(repository, name));
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, head));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(head)), decipher.final()]);
  } catch {
    return null;
  }
}
