import path from 'node:path';
import { connector } from '../../src/runner/session/connect.ts';
import { newKeyPair } from '../../src/runner/session/keys.ts';
import type { Connect, Connected, Endpoint, SessionConnection } from '../../src/runner/session/session.ts';
import { openArtifactFiles, openLogFiles } from '../../src/server/logs/open.ts';
import { openLeaseQueue } from '../../src/server/queue/open.ts';
import type { LeaseQueue } from '../../src/server/queue/queue.ts';
import { RunEventHub } from '../../src/server/queue/run-event-hub.ts';
import { type EndpointOptions, type SshEndpoint, startSshEndpoint } from '../../src/server/ssh/endpoint.ts';
import { openSqliteStore } from '../../src/server/store/open.ts';
import type { NewRun, Run, Store } from '../../src/server/store/store.ts';
import { parsePublicKey } from '../../src/shared/public-key.ts';
import { newPipeline, newRun } from './store-rig.ts';
import type { Cleanup } from './temp.ts';

type HelloFacts = Parameters<Connect>[1];

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

/** An SSH endpoint on loopback over a store and logs on disk, and what connects to it. */
export class SshRig {
  readonly dir: string;
  readonly logs;
  readonly artifacts;
  readonly key = newKeyPair();
  readonly store: Store;
  /** Whatever the endpoint said of faults. */
  readonly notes: string[] = [];
  /** Leases that wait. */
  waiting = 0;
  readonly #cleanup: Cleanup;
  readonly #queue: LeaseQueue;
  readonly #events: RunEventHub;
  #endpoint: SshEndpoint | null = null;

  private constructor(cleanup: Cleanup, dir: string, store: Store, queue: LeaseQueue, events: RunEventHub) {
    this.#events = events;
    this.#cleanup = cleanup;
    this.dir = dir;
    this.store = store;
    this.#queue = queue;
    this.logs = openLogFiles(path.join(dir, 'logs'), store.smallLogs);
    this.artifacts = openArtifactFiles(path.join(dir, 'artifacts'));
  }

  static async open(cleanup: Cleanup, leaseMs = 60_000): Promise<SshRig> {
    const dir = cleanup.tempDir('vole-ssh-');
    const events = new RunEventHub();
    const store = await openSqliteStore(path.join(dir, 'vole.sqlite'), events);
    const secretsFor = async () => ({});
    const queue = await openLeaseQueue({
      runs: store.runs,
      events,
      leaseMs,
      maxCommands: 2,
      keepRoomAfterMs: 600_000,
      secretsFor,
    });
    const rig = new SshRig(cleanup, dir, store, queue, events);
    await store.repositories.add({ name: 'team/app', cloneUrl: '/nowhere', maxJobs: null });
    await rig.know(rig.key.publicKey, 'build1');
    cleanup.defer(async () => {
      await rig.stop();
      await rig.logs.close();
      await rig.artifacts.close();
      await queue.close();
      await store.close();
    });
    return rig;
  }

  async know(publicKey: string, account: string): Promise<void> {
    const parsed = parsePublicKey(publicKey);
    if (!parsed.ok) throw new Error(parsed.fault);
    await this.store.accounts.addKey(account, parsed.key.publicKey, parsed.key.fingerprint);
  }

  /** Queues one run. */
  async add(change: Partial<NewRun> = {}): Promise<number> {
    const { runs } = await this.store.runs.createPipeline(newPipeline([newRun(change)]));
    return runs[0] ?? 0;
  }

  async run(id: number): Promise<Run> {
    const run = await this.store.runs.get(id);
    if (!run) throw new Error(`no run ${id}`);
    return run;
  }

  async start(options: Partial<EndpointOptions> = {}): Promise<SshEndpoint> {
    const note = (facts: { err?: Error }, text: string) =>
      void this.notes.push(facts.err ? `${text}: ${facts.err.message}` : text);
    this.#endpoint = await startSshEndpoint({
      host: '127.0.0.1',
      port: 0,
      hostKeyFile: path.join(this.dir, 'host-key'),
      store: this.store,
      queue: {
        // Given on as it is: what the endpoint does next may depend on how soon the answer comes.
        lease: (request) => {
          const leased = this.#queue.lease(request);
          this.waiting++;
          void leased.finally(() => this.waiting--).catch(() => {});
          return leased;
        },
        freed: (session) => this.#queue.freed(session),
      },
      events: this.#events,
      logs: this.logs,
      artifacts: this.artifacts,
      publisher: { ask: async () => ({ state: 'failed', why: 'this rig has no forge' }) },
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
  async account(name: string): Promise<Pick<Endpoint, 'account' | 'privateKey'>> {
    const pair = newKeyPair();
    await this.know(pair.publicKey, name);
    return { account: name, privateKey: pair.privateKey };
  }
}

let keys = 0;
export function leaseRequest(waitSeconds = 0, key = `key-${process.pid}-${keys++}`) {
  return { key, waitSeconds, freeCpus: 4, freeMemoryBytes: 1e9 };
}
