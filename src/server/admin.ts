import type { z } from 'zod';
import type { addRepositoryBodySchema, setRepositoryBodySchema } from '../shared/api.ts';
import type { ApiWebhook } from '../shared/api-forge.ts';
import { VoleError } from '../shared/errors.ts';
import { parsePublicKey } from '../shared/public-key.ts';
import type { ForgeAdmin } from './forges/forge-admin.ts';
import type { Repository, Store } from './store/store.ts';

interface RepositoryParts {
  readonly store: Pick<Store, 'repositories'>;
  readonly forges: Pick<ForgeAdmin, 'checked' | 'set' | 'remove'>;
}

/** The repository as it is now, with its webhook where a forge was set. */
export interface RepositorySet {
  readonly repository: Repository;
  readonly webhook: ApiWebhook | null;
}

/**
 * What administrators do to the store, whichever way they come: over HTTP, or on the data directory
 * itself while no server runs on it. Arguments have passed the API's schemas.
 */
export async function addRepository(
  parts: RepositoryParts,
  body: z.output<typeof addRepositoryBodySchema>,
): Promise<RepositorySet> {
  const { name, cloneUrl, maxJobs } = body;
  const { repositories } = parts.store;
  const exists = new VoleError(
    'usage',
    `repository ${name} exists already: change it with \`vole repo set\``,
  );
  if ((await repositories.get(name)) !== null) throw exists;
  // first, so that nothing is half registered
  const forge = body.forge && (await parts.forges.checked(name, body.forge));
  if ((await repositories.add({ name, cloneUrl, maxJobs })) === 'exists') throw exists;
  const webhook = forge ? await parts.forges.set(forge) : null;
  return { repository: await knownRepository(parts.store, name), webhook };
}

export async function setRepository(
  parts: RepositoryParts,
  name: string,
  body: z.output<typeof setRepositoryBodySchema>,
): Promise<RepositorySet> {
  const { cloneUrl, maxJobs, forge } = body;
  await knownRepository(parts.store, name);
  const checked = forge && (await parts.forges.checked(name, forge));
  const changed = await parts.store.repositories.set(name, {
    ...(cloneUrl === undefined ? {} : { cloneUrl }),
    ...(maxJobs === undefined ? {} : { maxJobs }),
  });
  if (!changed) throw noRepository(name);
  if (forge === null) await parts.forges.remove(name);
  const webhook = checked ? await parts.forges.set(checked) : null;
  return { repository: await knownRepository(parts.store, name), webhook };
}

/** Gives what it was, and how many secrets went with it. */
export async function removeRepository(
  store: Pick<Store, 'repositories' | 'secrets'>,
  name: string,
): Promise<{ repository: Repository; secrets: number }> {
  const repository = await knownRepository(store, name);
  const secrets = (await store.secrets.names(name)).length;
  const removed = await store.repositories.remove(name);
  switch (removed) {
    case 'removed':
      return { repository, secrets };
    case 'not-found':
      throw noRepository(name);
    case 'has-runs':
      throw new VoleError('usage', `repository ${name} has unfinished runs: cancel them first`);
    default:
      return removed satisfies never;
  }
}

export async function addKey(
  store: Pick<Store, 'accounts'>,
  account: string,
  text: string,
): Promise<{ account: string; fingerprint: string; added: boolean }> {
  const parsed = parsePublicKey(text);
  if (!parsed.ok) throw new VoleError('usage', `key refused: ${parsed.fault}`);
  const { publicKey, fingerprint } = parsed.key;
  const added = await store.accounts.addKey(account, publicKey, fingerprint);
  if (added === 'conflict') {
    const owner = await store.accounts.accountOf(publicKey);
    throw new VoleError('usage', `key ${fingerprint} is account ${owner ?? 'another'}'s already`);
  }
  return { account, fingerprint, added: added === 'added' };
}

/** How many were removed, at least one. All of the account's where `fingerprint` is null. */
export async function removeKeys(
  store: Pick<Store, 'accounts'>,
  account: string,
  fingerprint: string | null,
): Promise<number> {
  const removed = await store.accounts.removeKeys(account, fingerprint);
  if (removed > 0) return removed;
  const which = fingerprint === null ? 'no key' : `no key ${fingerprint}`;
  throw new VoleError('not-found', `account ${account} has ${which}: \`vole key ls\` lists them`);
}

async function knownRepository(store: Pick<Store, 'repositories'>, name: string): Promise<Repository> {
  const repository = await store.repositories.get(name);
  if (repository === null) throw noRepository(name);
  return repository;
}

function noRepository(name: string): VoleError {
  return new VoleError('not-found', `no repository ${name}: \`vole repo ls\` lists them`);
}
