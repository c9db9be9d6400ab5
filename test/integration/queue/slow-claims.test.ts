import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LeaseQueue } from '../../../src/server/queue/queue.ts';
import { RunEventHub } from '../../../src/server/queue/run-event-hub.ts';
import type { Claim, RunStore } from '../../../src/server/store/store.ts';
import { openQueue, queueRequest } from '../../support/queue-rig.ts';
import { newRun, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

let cleanup: Cleanup;
let rig: StoreRig;
let queue: LeaseQueue;
/** What the store has answered, whether the queue knows it yet or not. */
let claims: Claim[];
/** Claims that begin now are answered when it resolves. */
let gate: Promise<void>;

beforeEach(async () => {
  cleanup = new Cleanup();
  const events = new RunEventHub();
  rig = await StoreRig.open(cleanup, events);
  claims = [];
  gate = Promise.resolve();
  queue = await openQueue(rig, events, cleanup, { runs: slow(rig.store.runs) });
});

afterEach(async () => cleanup.run());

/** A store whose commits take as long as the test wants, as on a busy disk. */
function slow(runs: RunStore): RunStore {
  const claim = async (wanted: Claim) => {
    const open = gate;
    const claimed = await runs.claim(wanted);
    claims.push(wanted);
    await open;
    return claimed;
  };
  return new Proxy(runs, {
    get(target, name) {
      if (name === 'claim') return claim;
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

function close(): () => void {
  let open = () => {};
  gate = new Promise((resolve) => {
    open = resolve;
  });
  cleanup.defer(() => open());
  return open;
}

function lease(id: string, waitMs = 30_000, signal = new AbortController().signal) {
  return queue.lease(queueRequest(id, { waitMs, signal }));
}

/** Long enough for a run to be queued on a busy machine before it passes. */
const WAIT_MS = 1_500;

describe('a lease whose time passes during a claim', () => {
  it('gets the run that the claim brings', async () => {
    const waiting = lease('s1', WAIT_MS);
    await until('the first look', () => claims.length === 1);
    const open = close();
    const [run] = await rig.queue('team/app', newRun());
    await until('the second look', () => claims.length === 2);
    await delay(WAIT_MS + 100);
    open();
    await expect(waiting).resolves.toMatchObject({ run, attempt: 1 });
  });

  it('ends when the claim brings nothing', async () => {
    const waiting = lease('s1', WAIT_MS);
    await until('the first look', () => claims.length === 1);
    const open = close();
    await rig.queue('team/app', newRun({ labels: ['gpu'] }));
    await until('the second look', () => claims.length === 2);
    await delay(WAIT_MS + 100);
    open();
    await expect(waiting).resolves.toBeNull();
  });
});

describe('a lease that is aborted during a claim', () => {
  it('leaves a change that it should have looked at to the next', async () => {
    const gone = new AbortController();
    const [first, second] = [lease('s1', 30_000, gone.signal), lease('s2')];
    await until('both look', () => claims.length === 2);
    const open = close();
    await rig.queue('team/app', newRun({ labels: ['gpu'] }));
    await until('the first looks again', () => claims.length === 3);
    const [run] = await rig.queue('team/app', newRun());
    gone.abort();
    open();
    await expect(first).resolves.toBeNull();
    await expect(second).resolves.toMatchObject({ run });
  });
});
