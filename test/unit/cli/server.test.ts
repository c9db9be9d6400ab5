import { expect, it } from 'vitest';
import { publicUrlHint } from '../../../src/cli/server.ts';

const at = (host: string, url: string) => ({ host, url });

it('a server on every address, and without a public URL, says that the address it prints is for its host alone', () => {
  const hint = publicUrlHint(at('0.0.0.0', 'http://127.0.0.1:8080'), null);
  expect(hint).toContain('every address');
  expect(hint).toContain('http://127.0.0.1:8080');
  expect(hint).toContain('--public-url');
  expect(publicUrlHint(at('::', 'http://[::1]:8080'), null)).toContain('http://[::1]:8080');
});

it('one that was told its public URL, or listens on an address that it prints, says nothing of it', () => {
  expect(publicUrlHint(at('0.0.0.0', 'http://127.0.0.1:8080'), 'https://ci.example')).toBeNull();
  expect(publicUrlHint(at('10.0.0.5', 'http://10.0.0.5:8080'), null)).toBeNull();
  expect(publicUrlHint(at('127.0.0.1', 'http://127.0.0.1:8080'), null)).toBeNull();
});
