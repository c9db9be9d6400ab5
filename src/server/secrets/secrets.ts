import { secretNameSchema, secretValueFault } from '../../shared/api-names.ts';
import { VoleError } from '../../shared/errors.ts';
import type { Store } from '../store/store.ts';
import { makeSecretKey, readSecretKey, secretKeyPath } from './key-file.ts';
import { seal, unseal } from './seal.ts';

/**
 * Secrets of repositories, sealed before they reach the store. The key is a file beside the database
 * and made at the first secret, so a copy of the database alone gives nothing away. Values leave by
 * `secretsFor` alone, which the lease queue calls for trusted runs.
 */
export class Secrets {
  readonly #keyFile: string;
  readonly #store: Pick<Store, 'secrets' | 'repositories' | 'forges'>;
  readonly #lent: Readonly<Record<string, string>>;
  #key: Promise<Buffer> | null = null;

  /** `lent`: values by name that every repository has beside its own, and that are written nowhere. */
  constructor(
    dataDir: string,
    store: Pick<Store, 'secrets' | 'repositories' | 'forges'>,
    lent: Readonly<Record<string, string>> = {},
  ) {
    this.#keyFile = secretKeyPath(dataDir);
    this.#store = store;
    this.#lent = lent;
  }

  /** `value` is UTF-8 without NUL, at most 64 KiB. */
  async set(repository: string, name: string, value: Uint8Array): Promise<void> {
    const wrongName = secretNameSchema.safeParse(name);
    if (!wrongName.success)
      throw new VoleError('usage', wrongName.error.issues[0]?.message ?? 'bad secret name');
    const fault = secretValueFault(value);
    if (fault !== null) throw new VoleError('usage', `secret ${name} refused: ${fault}`);
    await this.#known(repository);
    await this.#store.secrets.set(repository, name, await this.sealFor(repository, name, value));
  }

  /** Seals what is kept elsewhere than among the secrets. A `name` with a dash is none of theirs. */
  async sealFor(repository: string, name: string, value: Uint8Array): Promise<Buffer> {
    const key = await this.#keyOnce(() => this.#readOrMakeKey());
    return seal(key, repository, name, value);
  }

  /** Throws where it does not open. */
  async openOf(repository: string, name: string, sealed: Buffer): Promise<Buffer> {
    const value = unseal(await this.#keyOnce(() => this.#readKey()), repository, name, sealed);
    if (value !== null) return value;
    throw new VoleError(
      'io-error',
      `secret ${name} of ${repository} does not open with ${this.#keyFile}: put the right key file back, or set the secret again`,
    );
  }

  async names(repository: string): Promise<{ name: string; updatedAt: number }[]> {
    await this.#known(repository);
    return this.#store.secrets.names(repository);
  }

  async remove(repository: string, name: string): Promise<void> {
    await this.#known(repository);
    if (!(await this.#store.secrets.remove(repository, name)))
      throw new VoleError('not-found', `${repository} has no secret ${name}`);
  }

  /** All secrets of a repository, opened. Throws where one does not open: a job never runs with half. */
  async secretsFor(repository: string): Promise<Record<string, string>> {
    const sealed = await this.#store.secrets.sealedOf(repository);
    const opened: Record<string, string> = { ...this.#lent };
    for (const secret of sealed) {
      const value = await this.openOf(repository, secret.name, secret.sealed);
      opened[secret.name] = value.toString('utf8');
    }
    return opened;
  }

  async #known(repository: string): Promise<void> {
    if ((await this.#store.repositories.get(repository)) === null)
      throw new VoleError('not-found', `no repository ${repository}: \`vole repo ls\` lists them`);
  }

  /** One reading for all who ask at once; a failed one is tried again the next time. */
  #keyOnce(obtain: () => Promise<Buffer>): Promise<Buffer> {
    this.#key ??= obtain().catch((error: unknown) => {
      this.#key = null;
      throw error;
    });
    return this.#key;
  }

  async #readKey(): Promise<Buffer> {
    const key = await readSecretKey(this.#keyFile);
    if (key === null) {
      throw new VoleError(
        'io-error',
        `the secret key ${this.#keyFile} is missing, and secrets are sealed with it: put it back`,
      );
    }
    return key;
  }

  /** A new key beside secrets sealed with a lost one would hide that loss until a job needs them. */
  async #readOrMakeKey(): Promise<Buffer> {
    const key = await readSecretKey(this.#keyFile);
    if (key !== null) return key;
    if (await this.#store.forges.any()) return this.#readKey();
    for (const repository of await this.#store.repositories.list()) {
      if ((await this.#store.secrets.names(repository.name)).length > 0) return this.#readKey();
    }
    return makeSecretKey(this.#keyFile);
  }
}
