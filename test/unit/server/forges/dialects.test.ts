import { describe, expect, it } from 'vitest';
import { apiUrlOf } from '../../../../src/server/forges/dialects.ts';

describe('the API of a forge', () => {
  it.each([
    ['gitea', 'https://git.example', 'https://git.example/api/v1'],
    ['forgejo', 'http://git.example:3000/sub/', 'http://git.example:3000/sub/api/v1'],
    ['github', 'https://github.com', 'https://api.github.com'],
    ['github', 'https://www.github.com/', 'https://api.github.com'],
    ['github', 'https://github.example', 'https://github.example/api/v3'],
  ] as const)('of a %s at %s is %s', (kind, url, api) => {
    expect(apiUrlOf(kind, url)).toBe(api);
  });
});
