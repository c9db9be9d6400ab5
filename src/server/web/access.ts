import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';

export interface AccessPolicy {
  readonly token: string;
  /** Reads need no token: only where HTTP listens on loopback alone. */
  readonly openReads: boolean;
  /**
   * Host names, without port, that a request may be addressed to; null allows every one. A page on
   * the web can point its own name at 127.0.0.1 and would read as us (DNS rebinding); its requests
   * carry that name.
   */
  readonly hosts: readonly string[] | null;
}

/** What a request wants: `read` may be open, `admin` writes or shows keys and secrets. */
export type Need = 'read' | 'admin';

export interface Credentials {
  readonly host: string | null;
  readonly authorization: string | null;
}

/** `unauthorised` may be answered with a question for the token, `wrong-host` never. */
export type Verdict = 'allowed' | 'unauthorised' | 'wrong-host';

export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

export function policyFor(host: string, token: string): AccessPolicy {
  if (!isLoopback(host)) return { token, openReads: false, hosts: null };
  return { token, openReads: true, hosts: ['localhost', '127.0.0.1', '::1', host.toLowerCase()] };
}

/** Host header without port and brackets, lower case; null where it is no host. */
export function hostName(header: string): string | null {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/[\]]+))(?::\d{1,5})?$/.exec(header);
  return (match?.[1] ?? match?.[2])?.toLowerCase() ?? null;
}

/** Compares digests, so that neither length nor content shows in the time it takes. */
function sameToken(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

function bearer(authorization: string | null): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null;
}

/** The password; the user name may be anything. */
function basic(authorization: string | null): string | null {
  const encoded = /^Basic +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? null : text.slice(colon + 1);
}

/**
 * A browser sends Basic credentials along with whatever another site makes it request, so they are
 * good for reading alone; what writes needs Bearer, which no browser adds by itself.
 */
export function judge(policy: AccessPolicy, need: Need, given: Credentials): Verdict {
  if (policy.hosts !== null) {
    const name = given.host === null ? null : hostName(given.host);
    if (name === null || !policy.hosts.includes(name)) return 'wrong-host';
  }
  // A token that is given must be right, also where none is needed: one who gives it relies on it.
  if (need === 'read' && policy.openReads && given.authorization === null) return 'allowed';
  const token = bearer(given.authorization) ?? (need === 'read' ? basic(given.authorization) : null);
  return token !== null && sameToken(token, policy.token) ? 'allowed' : 'unauthorised';
}
