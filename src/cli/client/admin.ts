import type {
  AddRepositoryBody,
  ApiKey,
  ApiRepository,
  ApiRepositorySet,
  SetRepositoryBody,
} from '../../shared/api.ts';
import type { ApiTask, ApiWebhook, TaskState } from '../../shared/api-forge.ts';

/** Setting up a server: over its API, or in its data directory while no server runs on it. */
export interface Admin {
  repositories(): Promise<ApiRepository[]>;
  addRepository(body: AddRepositoryBody): Promise<ApiRepositorySet>;
  setRepository(name: string, body: SetRepositoryBody): Promise<ApiRepositorySet>;
  webhook(repository: string, newSecret: boolean): Promise<ApiWebhook>;
  /** How many secrets went with it. */
  removeRepository(name: string): Promise<number>;
  keys(): Promise<ApiKey[]>;
  addKey(
    account: string,
    publicKey: string,
  ): Promise<{ account: string; fingerprint: string; added: boolean }>;
  /** All of the account's keys where `fingerprint` is null; how many were removed. */
  removeKeys(account: string, fingerprint: string | null): Promise<number>;
  secrets(repository: string): Promise<{ name: string; updatedAtMs: number }[]>;
  setSecret(repository: string, name: string, value: Uint8Array): Promise<void>;
  removeSecret(repository: string, name: string): Promise<void>;
  /** The latest first. */
  tasks(states: readonly TaskState[], limit: number): Promise<ApiTask[]>;
  /** One dead task, or all; how many wait again. */
  retryTasks(id: number | null): Promise<number>;
  close(): Promise<void>;
}
