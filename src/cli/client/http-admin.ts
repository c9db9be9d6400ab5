import { z } from 'zod';
import {
  type AddRepositoryBody,
  keyAddedSchema,
  keyListSchema,
  removedSchema,
  repositoryListSchema,
  repositoryRemovedSchema,
  repositorySetSchema,
  type SetRepositoryBody,
  secretListSchema,
} from '../../shared/api.ts';
import { retriedSchema, type TaskState, taskListSchema, webhookSchema } from '../../shared/api-forge.ts';
import type { Admin } from './admin.ts';
import { type ApiClient, json } from './api-client.ts';

/** `owner/name` stays a path of two parts: both have been checked to hold nothing else. */
const repositoryPath = (name: string) => `/api/repos/${name}`;

export class HttpAdmin implements Admin {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async repositories() {
    return (await this.#client.get('/api/repos', repositoryListSchema)).repositories;
  }

  addRepository(body: AddRepositoryBody) {
    return this.#client.send('POST', '/api/repos', json(body), repositorySetSchema);
  }

  setRepository(name: string, body: SetRepositoryBody) {
    return this.#client.send('PATCH', repositoryPath(name), json(body), repositorySetSchema);
  }

  async removeRepository(name: string) {
    const path = repositoryPath(name);
    return (await this.#client.send('DELETE', path, null, repositoryRemovedSchema)).secrets;
  }

  webhook(repository: string, newSecret: boolean) {
    const path = `${repositoryPath(repository)}/webhook`;
    return newSecret
      ? this.#client.send('POST', path, json({ newSecret }), webhookSchema)
      : this.#client.get(path, webhookSchema);
  }

  async keys() {
    return (await this.#client.get('/api/keys', keyListSchema)).keys;
  }

  addKey(account: string, publicKey: string) {
    return this.#client.send('POST', '/api/keys', json({ account, publicKey }), keyAddedSchema);
  }

  async removeKeys(account: string, fingerprint: string | null) {
    const query = fingerprint === null ? '' : `?fingerprint=${encodeURIComponent(fingerprint)}`;
    const path = `/api/keys/${encodeURIComponent(account)}${query}`;
    return (await this.#client.send('DELETE', path, null, removedSchema)).removed;
  }

  async secrets(repository: string) {
    return (await this.#client.get(`${repositoryPath(repository)}/secrets`, secretListSchema)).secrets;
  }

  async setSecret(repository: string, name: string, value: Uint8Array) {
    const body = { type: 'application/octet-stream', bytes: value };
    await this.#client.send('PUT', secretPath(repository, name), body, z.object({ name: z.string() }));
  }

  async removeSecret(repository: string, name: string) {
    await this.#client.send('DELETE', secretPath(repository, name), null, removedSchema);
  }

  async tasks(states: readonly TaskState[], limit: number) {
    const query = `state=${states.join(',')}&limit=${limit}`;
    return (await this.#client.get(`/api/tasks?${query}`, taskListSchema)).tasks;
  }

  async retryTasks(id: number | null) {
    return (await this.#client.send('POST', '/api/tasks/retry', json({ id }), retriedSchema)).retried;
  }

  async close() {}
}

function secretPath(repository: string, name: string): string {
  return `${repositoryPath(repository)}/secrets/${encodeURIComponent(name)}`;
}
