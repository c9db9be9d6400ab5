import { readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { secretKeyPath } from '../../src/server/secrets/key-file.ts';
import { Secrets } from '../../src/server/secrets/secrets.ts';
import type { Store } from '../../src/server/store/store.ts';
import { Cleanup } from '../support/temp.ts';

let cleanup: Cleanup;
let dir: string;
let rows: Map<string, { repository: string; name: string; sealed: Buffer }>;

/** Rows in memory, so that one can be moved as somebody with the database in hand would. */
function store(): Pick<Store, 'secrets' | 'repositories' | 'forges'> {
  const of = (repository: string) => [...rows.values()].filter((row) => row.repository === repository);
  const repositories = ['team/app', 'team/other'].map((name) => ({ name }));
  return {
    forges: { any: async () => false },
    repositories: {
      get: async (name: string) => repositories.find((repository) => repository.name === name) ?? null,
      list: async () => repositories,
    },
    secrets: {
      set: async (repository: string, name: string, sealed: Buffer) =>
        void rows.set(`${repository} ${name}`, { repository, name, sealed }),
      names: async (repository: string) => of(repository).map(({ name }) => ({ name, updatedAt: 1 })),
      remove: async (repository: string, name: string) => rows.delete(`${repository} ${name}`),
      sealedOf: async (repository: string) => of(repository),
    },
  } as unknown as Pick<Store, 'secrets' | 'repositories' | 'forges'>;
}

const value = Buffer.from('s3cret\nwith two lines');
const open = () => new Secrets(dir, store());

beforeEach(() => {
  cleanup = new Cleanup();
  dir = cleanup.tempDir('vole-secrets-');
  rows = new Map();
});
afterEach(() => cleanup.run());

describe('secrets at rest', () => {
  it('come back for their repository alone, in another process too', async () => {
    await open().set('team/app', 'TOKEN', value);
    await open().set('team/app', 'OTHER', Buffer.from('other'));
    await expect(open().secretsFor('team/app')).resolves.toEqual({
      TOKEN: value.toString(),
      OTHER: 'other',
    });
    await expect(open().secretsFor('team/other')).resolves.toEqual({});
    expect(statSync(secretKeyPath(dir)).mode & 0o777).toBe(0o600);
    expect(statSync(secretKeyPath(dir)).size).toBe(32);
  });

  it('set at once for the first time are sealed with one key', async () => {
    const secrets = open();
    await Promise.all(['A', 'B', 'C'].map((name) => secrets.set('team/app', name, value)));
    expect(Object.keys(await open().secretsFor('team/app')).sort()).toEqual(['A', 'B', 'C']);
  });

  it('moved to another repository in the database do not open there', async () => {
    await open().set('team/app', 'TOKEN', value);
    const row = rows.get('team/app TOKEN');
    rows.set('moved', { repository: 'team/other', name: 'TOKEN', sealed: row?.sealed ?? Buffer.alloc(0) });
    await expect(open().secretsFor('team/other')).rejects.toMatchObject({
      code: 'io-error',
      message: expect.stringContaining('secret TOKEN of team/other does not open'),
    });
  });

  it('with another key, one of a wrong length, or none say so in one line', async () => {
    await open().set('team/app', 'TOKEN', value);
    const file = secretKeyPath(dir);
    const refusal = async () =>
      open()
        .secretsFor('team/app')
        .then(
          () => 'opened',
          (error: Error) => error.message,
        );
    writeFileSync(file, Buffer.alloc(32, 1));
    expect(await refusal()).toContain('does not open with');
    writeFileSync(file, 'short');
    expect(await refusal()).toContain('has 5 bytes and should have 32');
    unlinkSync(file);
    expect(await refusal()).toContain('is missing, and secrets are sealed with it');
    // a new key is not made beside what was sealed with the lost one
    await expect(open().set('team/other', 'NEW', value)).rejects.toMatchObject({ code: 'io-error' });
  });

  it('need no key file where there are none', async () => {
    await expect(new Secrets(path.join(dir, 'nowhere'), store()).secretsFor('team/app')).resolves.toEqual({});
  });

  it('that are lent are given beside those of each repository, and make no key file', async () => {
    const lending = new Secrets(dir, store(), { LENT: 'for a while' });
    await expect(lending.secretsFor('team/other')).resolves.toEqual({ LENT: 'for a while' });
    expect(readdirSync(dir)).toEqual([]);
    await lending.set('team/app', 'TOKEN', value);
    await expect(lending.secretsFor('team/app')).resolves.toEqual({
      LENT: 'for a while',
      TOKEN: value.toString(),
    });
  });

  it('are refused where no variable could hold them, or nobody knows the repository', async () => {
    await expect(open().set('team/app', '1X', value)).rejects.toMatchObject({ code: 'usage' });
    await expect(open().set('team/app', 'X', Buffer.alloc(65_537, 'x'))).rejects.toMatchObject({
      code: 'usage',
    });
    await expect(open().set('no/such', 'X', value)).rejects.toMatchObject({ code: 'not-found' });
    await expect(open().remove('team/app', 'X')).rejects.toMatchObject({ code: 'not-found' });
  });
});
