import type { LeasedRun, LeaseQueue, LeaseRequest } from '../../src/server/queue/queue.ts';
import type { LeaseCheck, Run, Store } from '../../src/server/store/store.ts';
import type { RunOutcome } from '../../src/shared/outcome.ts';

interface Entry {
  id: number;
  state: 'queued' | 'running' | 'ended';
  attempt: number;
  account: string | null;
  session: string | null;
  key: string | null;
  accepted: boolean;
  cancelWhy: string | null;
  outcome: RunOutcome | null;
  logLength: number;
}

/** Runs in memory with the rules of leases, for what only needs somebody to lease from. */
export class MemoryQueue implements LeaseQueue {
  readonly runs: Entry[] = [];
  readonly keys = new Map<string, string>();
  readonly repositories: string[] = ['acme/app'];
  readonly renewals: number[] = [];
  /** Set to make every renewal fail. */
  fault: Error | null = null;
  readonly #waiting = new Set<() => void>();

  add(count = 1): number[] {
    const ids = Array.from({ length: count }, () => {
      const id = this.runs.length + 1;
      this.runs.push({
        id,
        state: 'queued',
        attempt: 0,
        account: null,
        session: null,
        key: null,
        accepted: false,
        cancelWhy: null,
        outcome: null,
        logLength: 0,
      });
      return id;
    });
    this.#wake();
    return ids;
  }

  run(id: number): Entry {
    const entry = this.runs[id - 1];
    if (!entry) throw new Error(`no run ${id}`);
    return entry;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  async lease(request: LeaseRequest): Promise<LeasedRun | null> {
    const end = performance.now() + request.waitMs;
    while (!request.signal.aborted) {
      const found = this.#claim(request);
      if (found) return found;
      const leftMs = end - performance.now();
      if (leftMs <= 0) return null;
      await this.#change(leftMs, request.signal);
    }
    return null;
  }

  #claim({ session, key }: LeaseRequest): LeasedRun | null {
    const stands = this.runs.find(
      (run) => run.state === 'running' && run.account === session.account && run.key === key,
    );
    const run = stands ?? this.runs.find(({ state }) => state === 'queued');
    if (!run) return null;
    if (!stands) run.attempt++;
    Object.assign(run, { state: 'running', account: session.account, session: session.id, key });
    if (!stands) run.accepted = false;
    return {
      run: run.id,
      attempt: run.attempt,
      repository: 'acme/app',
      trust: 'trusted',
      spec: { job: 'x' },
    };
  }

  async #change(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake);
      this.#waiting.add(wake);
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #check(account: string, id: number, attempt: number): LeaseCheck {
    if (this.fault) throw this.fault;
    const run = this.runs[id - 1];
    if (!run || run.state !== 'running' || run.account !== account || run.attempt !== attempt)
      return { ok: false, why: `run ${id} attempt ${attempt} is not leased to ${account}` };
    this.renewals.push(id);
    return { ok: true, cancelWhy: run.cancelWhy };
  }

  onChange(): () => void {
    return () => {};
  }

  async close(): Promise<void> {}

  get store(): Store {
    const store = {
      accounts: { accountOf: async (key: string) => this.keys.get(key) ?? null },
      repositories: { list: async () => this.repositories.map((name) => ({ name })) },
      runs: {
        get: async (id: number) => ({ id, repository: 'acme/app', job: 'x', startedAt: 1 }) as unknown as Run,
        heartbeat: async (account: string, id: number, attempt: number) => {
          const check = this.#check(account, id, attempt);
          if (check.ok) this.run(id).accepted = true;
          return check;
        },
        renew: async (account: string, id: number, attempt: number) => this.#check(account, id, attempt),
        record: async (
          account: string,
          id: number,
          attempt: number,
          outcome: RunOutcome,
          logLength: number,
        ) => {
          const check = this.#check(account, id, attempt);
          if (check.ok) Object.assign(this.run(id), { state: 'ended', outcome, logLength });
          return check;
        },
        sessionEnded: async (session: string) => {
          const given = this.runs.filter(
            (run) => run.state === 'running' && run.session === session && !run.accepted,
          );
          for (const run of given) run.state = 'queued';
          if (given.length > 0) this.#wake();
          return given.map(({ id }) => id);
        },
      },
    };
    return store as unknown as Store;
  }
}
