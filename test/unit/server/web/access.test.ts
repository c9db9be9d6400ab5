import { describe, expect, it } from 'vitest';
import {
  type AccessPolicy,
  hostName,
  isLoopback,
  judge,
  type Need,
  policyFor,
} from '../../../../src/server/web/access.ts';

const TOKEN = 'correct-token';
const local = policyFor('127.0.0.1', TOKEN);
const open = policyFor('0.0.0.0', TOKEN);
const basic = (password: string) => `Basic ${Buffer.from(`anyone:${password}`).toString('base64')}`;

function verdict(policy: AccessPolicy, need: Need, authorization: string | null, host = 'localhost:8080') {
  return judge(policy, need, { host, authorization });
}

describe('who may do what', () => {
  it.each([
    ['on loopback anybody reads', local, 'read', null, 'allowed'],
    ['on loopback nobody writes without the token', local, 'admin', null, 'unauthorised'],
    ['on loopback the token writes', local, 'admin', `Bearer ${TOKEN}`, 'allowed'],
    ['a wrong token reads nothing on loopback either', local, 'read', 'Bearer wrong', 'unauthorised'],
    ['the token reads on loopback', local, 'read', `Bearer ${TOKEN}`, 'allowed'],
    ['elsewhere nobody reads without the token', open, 'read', null, 'unauthorised'],
    ['elsewhere the token reads', open, 'read', `bearer ${TOKEN}`, 'allowed'],
    ['a browser reads with the token as password', open, 'read', basic(TOKEN), 'allowed'],
    ['a password with a colon before it is another one', open, 'read', basic(`x:${TOKEN}`), 'unauthorised'],
    ['what a browser sends by itself never writes', open, 'admin', basic(TOKEN), 'unauthorised'],
    ['a wrong token reads nothing', open, 'read', 'Bearer wrong', 'unauthorised'],
    ['a token that only begins right is wrong', open, 'admin', `Bearer ${TOKEN}x`, 'unauthorised'],
    ['an empty token is wrong', open, 'admin', 'Bearer ', 'unauthorised'],
  ] as const)('%s', (_what, policy, need, authorization, expected) => {
    expect(verdict(policy, need, authorization)).toBe(expected);
  });

  it('a request to another name is refused on loopback, though it has the token', () => {
    expect(verdict(local, 'read', null, 'evil.example')).toBe('wrong-host');
    expect(verdict(local, 'admin', `Bearer ${TOKEN}`, 'evil.example:8080')).toBe('wrong-host');
    expect(judge(local, 'read', { host: null, authorization: null })).toBe('wrong-host');
    for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1:8080', '[::1]:8080'])
      expect(verdict(local, 'read', null, host)).toBe('allowed');
  });

  it('the configured host is a name for itself', () => {
    expect(verdict(policyFor('127.0.0.5', TOKEN), 'read', null, '127.0.0.5:80')).toBe('allowed');
    expect(verdict(local, 'read', null, '127.0.0.5:80')).toBe('wrong-host');
  });

  it('only loopback addresses are loopback', () => {
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) expect(isLoopback(host)).toBe(true);
    for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.evil.example', 'ci.example'])
      expect(isLoopback(host)).toBe(false);
  });

  it('a Host header that is none has no name', () => {
    for (const header of ['', 'a b', 'a:b:c', '[::1', 'x/y', 'host:999999'])
      expect(hostName(header)).toBeNull();
    expect(hostName('[::1]:80')).toBe('::1');
  });
});
