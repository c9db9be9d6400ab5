import { addKey, addRepository, removeKeys, removeRepository, setRepository } from '../../server/admin.ts';
import { DataDir } from '../../server/data-dir.ts';
import { ForgeClients } from '../../server/forges/clients.ts';
import { ForgeAdmin } from '../../server/forges/forge-admin.ts';
import { ForgeSettings } from '../../server/forges/settings.ts';
import { type OpenData, openData } from '../../server/open-data.ts';
import { keyView, repositorySetView, repositoryView, taskView } from '../../server/web/views.ts';
import {
  type AddRepositoryBody,
  addRepositoryBodySchema,
  type SetRepositoryBody,
  setRepositoryBodySchema,
} from '../../shared/api.ts';
import type { TaskState } from '../../shared/api-forge.ts';
import { systemClock } from '../../shared/platform/clock.ts';
import type { Admin } from './admin.ts';

/** The same on the data directory itself, held alone for as long as this is open. */
export class DirectoryAdmin implements Admin {
  readonly #data: OpenData;

  readonly #forges: ForgeAdmin;

  private constructor(data: OpenData) {
    this.#data = data;
    const { forges } = data.store;
    this.#forges = new ForgeAdmin({
      forges,
      settings: new ForgeSettings(forges, data.secrets),
      clients: new ForgeClients({ forges, clock: systemClock }),
      publicUrl: () => '',
    });
  }

  /** Makes the directory where it is not there yet. `lock-held` where a server runs on it. */
  static async open(dataDir: string): Promise<DirectoryAdmin> {
    return new DirectoryAdmin(await openData(new DataDir(dataDir)));
  }

  async repositories() {
    return (await this.#data.store.repositories.list()).map(repositoryView);
  }

  async addRepository(body: AddRepositoryBody) {
    return repositorySetView(await addRepository(this.#parts(), addRepositoryBodySchema.parse(body)));
  }

  async setRepository(name: string, body: SetRepositoryBody) {
    return repositorySetView(await setRepository(this.#parts(), name, setRepositoryBodySchema.parse(body)));
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

  webhook(repository: string, newSecret: boolean) {
    return this.#forges.webhook(repository, newSecret);
  }

  async tasks(states: readonly TaskState[], limit: number) {
    return (await this.#data.store.tasks.list({ states, limit })).map(taskView);
  }

  retryTasks(id: number | null) {
    return this.#data.store.tasks.retry(id);
  }

  #parts() {
    return { store: this.#data.store, forges: this.#forges };
  }

  close() {
    return this.#data.close();
  }
}
