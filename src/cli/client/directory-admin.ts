import { addKey, addRepository, removeKeys, removeRepository, setRepository } from '../../server/admin.ts';
import { DataDir } from '../../server/data-dir.ts';
import { type OpenData, openData } from '../../server/open-data.ts';
import { keyView, repositoryView } from '../../server/web/views.ts';
import type { AddRepositoryBody, SetRepositoryBody } from '../../shared/api.ts';
import type { Admin } from './admin.ts';

/** The same on the data directory itself, held alone for as long as this is open. */
export class DirectoryAdmin implements Admin {
  readonly #data: OpenData;

  private constructor(data: OpenData) {
    this.#data = data;
  }

  /** Makes the directory where it is not there yet. `lock-held` where a server runs on it. */
  static async open(dataDir: string): Promise<DirectoryAdmin> {
    return new DirectoryAdmin(await openData(new DataDir(dataDir)));
  }

  async repositories() {
    return (await this.#data.store.repositories.list()).map(repositoryView);
  }

  async addRepository(body: AddRepositoryBody) {
    return repositoryView(await addRepository(this.#data.store, body));
  }

  async setRepository(name: string, body: SetRepositoryBody) {
    return repositoryView(await setRepository(this.#data.store, name, body));
  }

  async removeRepository(name: string) {
    return (await removeRepository(this.#data.store, name)).secrets;
  }

  async keys() {
    return (await this.#data.store.accounts.keys()).map(keyView);
  }

  addKey(account: string, publicKey: string) {
    return addKey(this.#data.store, account, publicKey);
  }

  removeKeys(account: string, fingerprint: string | null) {
    return removeKeys(this.#data.store, account, fingerprint);
  }

  async secrets(repository: string) {
    const secrets = await this.#data.secrets.names(repository);
    return secrets.map(({ name, updatedAt }) => ({ name, updatedAtMs: updatedAt }));
  }

  setSecret(repository: string, name: string, value: Uint8Array) {
    return this.#data.secrets.set(repository, name, value);
  }

  removeSecret(repository: string, name: string) {
    return this.#data.secrets.remove(repository, name);
  }

  close() {
    return this.#data.close();
  }
}
