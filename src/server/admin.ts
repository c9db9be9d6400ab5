import type { AddRepositoryBody, SetRepositoryBody } from '../shared/api.ts';
import { VoleError } from '../shared/errors.ts';
import { parsePublicKey } from '../shared/public-key.ts';
import type { Repository, Store } from './store/store.ts';

/**
 * What administrators do to the store, whichever way they come: over HTTP, or on the data directory
 * itself while no server runs on it. Arguments have passed the API's schemas.
 */
export async function addRepository(
  store: Pick<Store, 'repositories'>,
  body: AddRepositoryBody,
): Promise<Repository> {
  const { name, cloneUrl } = body;
  const added = await store.repositories.add({ name, cloneUrl, maxJobs: body.maxJobs ?? null });
  if (added === 'exists')
    throw new VoleError('usage', `repository ${name} exists already: change it with \`vole repo set\``);
  return knownRepository(store, name);
}

export async function setRepository(
  store: Pick<Store, 'repositories'>,
  name: string,
  body: SetRepositoryBody,
): Promise<Repository> {
  const changed = await store.repositories.set(name, {
    ...(body.cloneUrl === undefined ? {} : { cloneUrl: body.cloneUrl }),
    ...(body.maxJobs === undefined ? {} : { maxJobs: body.maxJobs }),
  });
  if (!changed) throw noRepository(name);
  return knownRepository(store, name);
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
