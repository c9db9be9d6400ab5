import path from 'node:path';
import { openSqliteStore } from '../../src/server/store/open.ts';
import type {
  Claim,
  ClaimedRun,
  NewPipeline,
  NewRun,
  RunEvents,
  Store,
} from '../../src/server/store/store.ts';
import type { RunOutcome } from '../../src/shared/outcome.ts';
import type { Clock } from '../../src/shared/platform/clock.ts';
import type { Cleanup } from './temp.ts';

export const LEASE_MS = 60_000;

/** Time that a test moves; the wall clock and the steady one apart. */
export class TestClock implements Clock {
  wall = 1_800_000_000_000;
  steady = 5_000;

  now(): number {
    return this.wall;
  }

  monotonic(): number {
    return this.steady;
  }

  pass(ms: number): void {
    this.wall += ms;
    this.steady += ms;
  }
}

export function newRun(change: Partial<NewRun> = {}): NewRun {
  const key = change.key ?? 'test';
  return {
    key,
    job: key,
    needs: [],
    labels: [],
    cpus: 1,
    memoryBytes: 0,
    serial: null,
    retryLost: true,
    failFast: null,
    kind: 'job',
    state: 'queued',
    spec: {
      repository: 'team/app',
      trust: 'trusted',
      job: key,
      event: 'manual',
      source: null,
      image: null,
      services: [],
      imageFile: null,
      imagePull: null,
      env: {},
      agent: null,
      steps: [
        {
          kind: 'run',
          name: 'true',
          run: 'true',
          shell: 'sh',
          workingDirectory: '.',
          env: {},
          if: 'success',
          continueOnError: false,
          timeoutMs: null,
        },
      ],
      artifacts: [],
      timeoutMs: 60_000,
      cpus: 1,
      memoryBytes: 0,
    },
    ...change,
  };
}

export function newPipeline(runs: readonly NewRun[], change: Partial<NewPipeline> = {}): NewPipeline {
  return {
    repository: 'team/app',
    event: 'manual',
    ref: 'refs/heads/main',
    sha: 'a'.repeat(40),
    trust: 'trusted',
    title: 'a change',
    fault: null,
    runs,
    ...change,
  };
}

let keys = 0;

/** Of a process that is alone with its claim, unless `free` says otherwise. */
export type ClaimChange = Partial<Claim> & { freeCpus?: number; freeMemoryBytes?: number };

export function aClaim({
  freeCpus = 8,
  freeMemoryBytes = 16 * 1024 ** 3,
  ...change
}: ClaimChange = {}): Claim {
  return {
    account: 'build1',
    session: 's1',
    machine: 'host1',
    key: `key-${++keys}`,
    labels: [],
    repos: [],
    free: () => ({ cpus: freeCpus, memoryBytes: freeMemoryBytes }),
    room: {
      total: { cpus: 0, memoryBytes: 0 },
      queuedBefore: 0,
      kept: () => null,
      keep: () => null,
      isAwaited: () => false,
    },
    leaseMs: LEASE_MS,
    maxCommands: 2,
    ...change,
  };
}

export function outcome(result: RunOutcome['result'], change: Partial<RunOutcome> = {}): RunOutcome {
  return {
    result,
    reason: result === 'failed' ? 'exit' : null,
    detail: '',
    steps: [],
    durationMs: 5,
    ...change,
  };
}

/** A store of its own in a file of its own. */
export class StoreRig {
  readonly file: string;
  readonly clock = new TestClock();
  readonly changed: number[] = [];
  leasable = 0;
  store!: Store;
  readonly #events: RunEvents;

  private constructor(dir: string, events?: RunEvents) {
    this.file = path.join(dir, 'vole.db');
    this.#events = events ?? {
      leasable: () => (this.leasable += 1),
      keysRemoved: () => {},
      tasks: () => {},
      changed: (run) => void this.changed.push(run),
    };
  }

  static async open(cleanup: Cleanup, events?: RunEvents): Promise<StoreRig> {
    const rig = new StoreRig(cleanup.tempDir('vole-store-'), events);
    await rig.reopen();
    cleanup.defer(() => rig.store.close());
    return rig;
  }

  /** As a server does that starts again. */
  async reopen(): Promise<void> {
    await this.store?.close();
    this.store = await openSqliteStore(this.file, this.#events, this.clock);
  }

  /** Queues runs of one repository and gives their ids. */
  async queue(repository: string, ...runs: NewRun[]): Promise<number[]> {
    return (await this.store.runs.createPipeline(newPipeline(runs, { repository }))).runs;
  }

  async claim(change: ClaimChange = {}): Promise<ClaimedRun | null> {
    return this.store.runs.claim(aClaim(change));
  }

  async claimed(change: ClaimChange = {}): Promise<ClaimedRun> {
    const run = await this.claim(change);
    if (run === null) throw new Error('nothing could be claimed');
    return run;
  }

  async state(run: number): Promise<string | undefined> {
    return (await this.store.runs.get(run))?.state;
  }

  finish(run: Pick<ClaimedRun, 'run' | 'attempt'>, result: RunOutcome['result'] = 'passed') {
    return this.store.runs.record('build1', run.run, run.attempt, outcome(result), 0);
  }
}
