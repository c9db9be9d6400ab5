import { mkdtempSync } from 'node:fs';
import path from 'node:path';
import { connector } from '../../src/runner/session/connect.ts';
import { newKeyPair } from '../../src/runner/session/keys.ts';
import type { Connect, Connected, Endpoint, SessionConnection } from '../../src/runner/session/session.ts';
import { openArtifactFiles, openLogFiles } from '../../src/server/logs/open.ts';
import { type EndpointOptions, type SshEndpoint, startSshEndpoint } from '../../src/server/ssh/endpoint.ts';
import { MemoryQueue } from './memory-queue.ts';
import type { Cleanup } from './temp.ts';

type HelloFacts = Parameters<Connect>[1];

export const OUTCOME = { result: 'passed', reason: null, detail: '', steps: [], durationMs: 1 } as const;

export const HELLO: HelloFacts = {
  version: '0',
  machine: 'host1',
  process: 'p1',
  slot: 0,
  slots: 4,
  labels: [],
  repos: [],
  engine: 'none',
  cpus: 4,
  memoryBytes: 1e9,
};

/** An SSH endpoint on loopback over runs in memory and logs on disk, and what connects to it. */
export class SshRig {
  readonly queue = new MemoryQueue();
  readonly dir: string;
  readonly logs;
  readonly artifacts;
  readonly key = newKeyPair();
  /** Whatever the endpoint said of faults. */
  readonly notes: string[] = [];
  readonly #cleanup: Cleanup;
  #endpoint: SshEndpoint | null = null;

  constructor(cleanup: Cleanup) {
    this.#cleanup = cleanup;
    this.dir = mkdtempSync(path.join(cleanup.tempDir(), 'data-'));
    this.logs = openLogFiles(path.join(this.dir, 'logs'));
    this.artifacts = openArtifactFiles(path.join(this.dir, 'artifacts'));
    this.queue.keys.set(this.key.publicKey, 'build1');
    cleanup.defer(async () => {
      await this.stop();
      await this.logs.close();
      await this.artifacts.close();
    });
  }

  async start(options: Partial<EndpointOptions> = {}): Promise<SshEndpoint> {
    const note = (facts: { err?: Error }, text: string) =>
      void this.notes.push(facts.err ? `${text}: ${facts.err.message}` : text);
    this.#endpoint = await startSshEndpoint({
      host: '127.0.0.1',
      port: 0,
      hostKeyFile: path.join(this.dir, 'host-key'),
      store: this.queue.store,
      queue: this.queue,
      logs: this.logs,
      artifacts: this.artifacts,
      serverId: '0123abcd',
      leaseMs: 60_000,
      maxSessions: 100,
      maxSessionsPerAccount: 100,
      log: { debug: note, warn: note, error: note },
      ...options,
    });
    return this.#endpoint;
  }

  async stop(): Promise<void> {
    await this.#endpoint?.close();
  }

  get server(): SshEndpoint {
    if (!this.#endpoint) throw new Error('the endpoint was not started');
    return this.#endpoint;
  }

  endpoint(change: Partial<Endpoint> = {}): Endpoint {
    return {
      host: '127.0.0.1',
      port: this.server.port,
      account: 'build1',
      privateKey: this.key.privateKey,
      hostKeys: [this.server.fingerprint],
      ...change,
    };
  }

  async try(
    hello: Partial<HelloFacts> = {},
    endpoint: Partial<Endpoint> = {},
    connect: Connect = connector(),
  ): Promise<Connected> {
    const signal = new AbortController().signal;
    const result = await connect(this.endpoint(endpoint), { ...HELLO, ...hello }, { signal });
    if (result.ok) this.#cleanup.defer(() => result.session.destroy());
    return result;
  }

  /** A welcomed session. */
  async connect(
    hello: Partial<HelloFacts> = {},
    endpoint: Partial<Endpoint> = {},
  ): Promise<SessionConnection> {
    const result = await this.try(hello, endpoint);
    if (!result.ok) throw new Error(`${result.disconnect.reason}: ${result.disconnect.why}`);
    return result.session;
  }

  /** The account's key pair is made and known. */
  account(name: string): Pick<Endpoint, 'account' | 'privateKey'> {
    const pair = newKeyPair();
    this.queue.keys.set(pair.publicKey, name);
    return { account: name, privateKey: pair.privateKey };
  }
}

let keys = 0;
export function leaseRequest(waitSeconds = 0, key = `key-${process.pid}-${keys++}`) {
  return { key, waitSeconds, freeCpus: 4, freeMemoryBytes: 1e9 };
}
