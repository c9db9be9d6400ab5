import type { Kept } from '../../src/server/queue/kept-room.ts';
import type { Session } from '../../src/server/queue/queue.ts';
import type {
  AccountKey,
  Pipeline,
  PipelineFilter,
  Repository,
  Run,
  Store,
} from '../../src/server/store/store.ts';
import { policyFor } from '../../src/server/web/access.ts';
import type { WebParts } from '../../src/server/web/parts.ts';

export const TOKEN = 'the-admin-token';

export function aRun(change: Partial<Run> = {}): Run {
  return {
    id: 1,
    pipeline: 1,
    repository: 'team/app',
    ref: 'refs/heads/main',
    sha: 'a'.repeat(40),
    event: 'manual',
    trust: 'trusted',
    retryOf: null,
    key: 'test',
    job: 'test',
    kind: 'job',
    state: 'running',
    authorised: false,
    attempt: 1,
    lostCount: 0,
    needs: [],
    labels: [],
    cpus: 1,
    memoryBytes: 0,
    serial: null,
    account: 'build1',
    machine: 'host1',
    session: 's1',
    createdAt: 1_000,
    queuedAt: 1_000,
    startedAt: 2_000,
    endedAt: null,
    leaseUntil: null,
    cancelWhy: null,
    reason: null,
    detail: '',
    steps: [],
    logLength: 0,
    ...change,
  };
}

export function aSession(change: Partial<Session> = {}): Session {
  return {
    id: 's1',
    account: 'build1',
    address: '127.0.0.1',
    machine: 'host1',
    process: 'p1',
    slot: 0,
    slots: 4,
    version: '0.1.0',
    labels: [],
    repos: [],
    engine: 'none',
    cpus: 4,
    memoryBytes: 8 * 1024 ** 3,
    since: 1_000,
    run: null,
    silentSince: null,
    ...change,
  };
}

/** What the HTTP side stands on, in memory: enough to ask it everything without a disk. */
export class Parts {
  runs: Run[] = [];
  pipelines: Pipeline[] = [];
  repositories: Repository[] = [];
  keys: AccountKey[] = [];
  sessions: Session[] = [];
  log = Buffer.alloc(0);
  host = '127.0.0.1';
  /** How far the log was read. */
  readTo = 0;
  readonly faults: unknown[] = [];
  readonly closing = new AbortController();
  readonly growth = new Set<() => void>();
  kept: Kept[] = [];
  readonly changes = new Set<(run: number) => void>();

  append(bytes: string | Buffer): void {
    this.log = Buffer.concat([this.log, Buffer.from(bytes)]);
    for (const listener of this.growth) listener();
  }

  /** Changes the run and tells who listens. */
  become(id: number, change: Partial<Run>): void {
    this.runs = this.runs.map((run) => (run.id === id ? { ...run, ...change } : run));
    for (const listener of this.changes) listener(id);
  }

  parts(): WebParts {
    return {
      store: this.#store(),
      queue: { onChange: (listener) => subscribe(this.changes, listener), roomKept: () => this.kept },
      logs: {
        length: async () => this.log.length,
        read: async (_run, _attempt, offset, maxBytes) => {
          const bytes = this.log.subarray(offset, offset + maxBytes);
          this.readTo = Math.max(this.readTo, offset + bytes.length);
          return bytes;
        },
        append: async () => 0,
        staysSmall: () => false,
        onGrowth: (_run, _attempt, listener) => subscribe(this.growth, listener),
      },
      artifacts: {
        append: async () => ({ offset: 0, error: null }),
        list: async () => [],
        path: async () => null,
      },
      presence: { sessions: () => this.sessions },
      secrets: {
        names: async () => [{ name: 'TOKEN', updatedAt: 5 }],
        set: async () => {},
        remove: async () => {},
      } as unknown as WebParts['secrets'],
      forges: {
        checked: async () => Promise.reject(new Error('no forge')),
        set: async () => ({ url: '', secret: '' }),
        remove: async () => {},
        webhook: async () => ({ url: '', secret: '' }),
      },
      pipelines: {
        submit: async () => ({ pipeline: 1, runs: [], fault: null }),
      },
      mirrors: { forget: async () => {} },
      intake: {
        take: async () => ({ status: 404, text: 'no such hook' }),
        replay: async () => ({ status: 404, text: 'no forge' }),
      },
      access: policyFor(this.host, TOKEN),
      clock: { now: () => 10_000, monotonic: () => 0 },
      closing: this.closing.signal,
      onFault: (error) => this.faults.push(error),
    };
  }

  #store(): Store {
    const find = (name: string) => this.repositories.find((repository) => repository.name === name);
    const store: Partial<Record<keyof Store, unknown>> = {
      accounts: {
        keys: async () => this.keys,
        addKey: async () => 'added',
        removeKeys: async () => 0,
        accountOf: async () => null,
      },
      repositories: {
        list: async () => this.repositories,
        get: async (name: string) => find(name) ?? null,
        add: async (repository: Repository) => {
          if (find(repository.name)) return 'exists';
          this.repositories.push({ ...repository, forge: null, addedAt: 1 });
          return 'added';
        },
        set: async (name: string) => find(name) !== undefined,
        remove: async (name: string) => (find(name) ? 'removed' : 'not-found'),
      },
      secrets: { names: async () => [] },
      runs: {
        get: async (id: number) => this.runs.find((run) => run.id === id) ?? null,
        list: async (filter: { limit: number; pipeline?: number }) =>
          this.runs
            .filter((run) => filter.pipeline === undefined || run.pipeline === filter.pipeline)
            .slice(0, filter.limit),
        pipeline: async (id: number) => this.pipelines.find((pipeline) => pipeline.id === id) ?? null,
        pipelines: async ({ faulty, limit }: PipelineFilter) =>
          this.pipelines
            .filter(({ fault }) => !faulty || fault !== null)
            .slice(0, limit)
            .map((pipeline) => ({ ...pipeline, states: { passed: 1 } })),
        why: async (run: number) => ({
          run,
          state: 'queued',
          reasons: [{ code: 'next', text: 'next' }],
          place: 1,
        }),
        cancel: async (id: number) => (this.runs.some((run) => run.id === id) ? 'cancelling' : 'not-found'),
      },
    };
    return store as unknown as Store;
  }
}

function subscribe<T>(set: Set<T>, listener: T): () => void {
  set.add(listener);
  return () => set.delete(listener);
}
