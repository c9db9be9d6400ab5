import { type LeaseQueueParts, openLeaseQueue } from '../../src/server/queue/open.ts';
import type { LeaseQueue, LeaseRequest } from '../../src/server/queue/queue.ts';
import { RunEventHub } from '../../src/server/queue/run-event-hub.ts';
import { StoreRig } from './store-rig.ts';
import type { Cleanup } from './temp.ts';

export const LEASE_MS = 60_000;

let keys = 0;

/** A lease queue on a real store. */
export class QueueRig {
  readonly store: StoreRig;
  queue: LeaseQueue;
  readonly #events: RunEventHub;
  readonly #cleanup: Cleanup;

  private constructor(store: StoreRig, queue: LeaseQueue, events: RunEventHub, cleanup: Cleanup) {
    this.store = store;
    this.queue = queue;
    this.#events = events;
    this.#cleanup = cleanup;
  }

  static async open(cleanup: Cleanup): Promise<QueueRig> {
    const events = new RunEventHub();
    const store = await StoreRig.open(cleanup, events);
    return new QueueRig(store, await openQueue(store, events, cleanup), events, cleanup);
  }

  /** Another one on the same store, from now on its own. */
  async reopen(change: Partial<LeaseQueueParts> = {}): Promise<LeaseQueue> {
    this.queue = await openQueue(this.store, this.#events, this.#cleanup, change);
    return this.queue;
  }

  /** Ends when all that the store was asked before is done. */
  async settled(): Promise<void> {
    await this.store.store.repositories.set('none/none', {});
    await this.store.store.repositories.set('none/none', {});
  }
}

/** One on the store, which ends with the test. */
export async function openQueue(
  rig: StoreRig,
  events: RunEventHub,
  cleanup: Cleanup,
  change: Partial<LeaseQueueParts> = {},
): Promise<LeaseQueue> {
  const opened = await openLeaseQueue({
    runs: rig.store.runs,
    events,
    leaseMs: LEASE_MS,
    maxCommands: 2,
    keepRoomAfterMs: 600_000,
    secretsFor: async () => ({}),
    ...change,
  });
  cleanup.defer(() => opened.close());
  return opened;
}

/** Of a process with eight cores. */
export function queueRequest(session: string, change: Partial<LeaseRequest> = {}): LeaseRequest {
  return {
    session: {
      id: session,
      account: 'build1',
      machine: 'host1',
      labels: [],
      repos: [],
      cpus: 8,
      memoryBytes: 1024,
    },
    key: `lease-${++keys}`,
    freeCpus: 8,
    freeMemoryBytes: 1024,
    waitMs: 30_000,
    signal: new AbortController().signal,
    ...change,
  };
}
