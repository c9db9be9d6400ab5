import type { AddRepositoryBody, ApiKey, ApiRepository, SetRepositoryBody } from '../../shared/api.ts';

/** Setting up a server: over its API, or in its data directory while no server runs on it. */
export interface Admin {
  repositories(): Promise<ApiRepository[]>;
  addRepository(body: AddRepositoryBody): Promise<ApiRepository>;
  setRepository(name: string, body: SetRepositoryBody): Promise<ApiRepository>;
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
  close(): Promise<void>;
}
