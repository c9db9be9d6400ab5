import { createHash, createHmac, type Hash, type Hmac, timingSafeEqual } from 'node:crypto';
import type { ForgeKind } from '../../shared/api-forge.ts';

/** A request's header by its lower-case name; null where it is not there. */
export type Header = (name: string) => string | null;

/** Under which headers each forge signs, the preferred first; a prefix `sha256=` may stand before the hex. */
const SIGNATURES: Readonly<Record<ForgeKind, readonly string[]>> = {
  gitea: ['x-gitea-signature', 'x-hub-signature-256'],
  forgejo: ['x-forgejo-signature', 'x-gitea-signature', 'x-hub-signature-256'],
  github: ['x-hub-signature-256'],
};

/** The HMAC-SHA256 that came with the delivery, or null where there is none of the right form. */
export function signatureOf(forge: ForgeKind, header: Header): Buffer | null {
  const name = SIGNATURES[forge].find((name) => header(name) !== null);
  const text = name === undefined ? '' : (header(name) ?? '');
  const hex = /^(?:sha256=)?([0-9a-f]{64})$/i.exec(text.trim())?.[1];
  return hex === undefined ? null : Buffer.from(hex, 'hex');
}

/** Signature and digest of a body, computed as it arrives. */
export class BodyDigests {
  readonly #hmac: Hmac;
  readonly #hash: Hash = createHash('sha256');

  constructor(secret: Uint8Array) {
    this.#hmac = createHmac('sha256', secret);
  }

  update(part: Uint8Array): void {
    this.#hmac.update(part);
    this.#hash.update(part);
  }

  /** Whether the signature is the body's, in constant time; its SHA-256 beside. Once only. */
  finish(signature: Buffer): { signed: boolean; digest: Buffer } {
    const own = this.#hmac.digest();
    const signed = signature.length === own.length && timingSafeEqual(own, signature);
    return { signed, digest: this.#hash.digest() };
  }
}
