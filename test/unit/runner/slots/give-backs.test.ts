import { afterEach, beforeEach, expect, test } from 'vitest';
import { GiveBacks } from '../../../../src/runner/slots/give-backs.ts';
import type { SessionLink } from '../../../../src/runner/slots/session-link.ts';
import { FakeServer } from '../../../support/fake-network.ts';

let server: FakeServer;
let link: SessionLink;
let giveBacks: GiveBacks;
beforeEach(() => {
  server = new FakeServer();
  link = server.link();
  giveBacks = new GiveBacks(link);
});
afterEach(() => link.close());

test('a job goes back by a record that says so, on the next session where one breaks', async () => {
  server.onRecord = () => (server.connects === 1 ? server.hangUp() : null);
  await giveBacks.job({ run: 7, attempt: 2 });
  expect(server.connects).toBe(2);
  expect(server.records.map(({ outcome }) => outcome.result)).toEqual(['interrupted']);
});

test('a job that was noted goes back once, and one that is in hand by now does not', async () => {
  giveBacks.note({ run: 7, attempt: 2 });
  giveBacks.settled();
  await giveBacks.noted();
  expect(server.records).toEqual([]);
  giveBacks.note({ run: 8, attempt: 1 });
  expect(giveBacks.pending).toBe(true);
  await giveBacks.noted();
  await giveBacks.noted();
  expect(server.records).toHaveLength(1);
  expect(giveBacks.pending).toBe(false);
});

test('a lease whose reply was lost is asked for by its key, nothing new with it, and its session dropped', async () => {
  const asked: unknown[] = [];
  server.onConnect = (session) => {
    session.lease = async (request?: unknown) => {
      asked.push(request);
      return { type: 'idle' };
    };
  };
  giveBacks.note({ key: 'key' });
  await giveBacks.noted();
  expect(asked).toEqual([{ key: 'key', waitSeconds: 0, freeCpus: 0, freeMemoryBytes: 0 }]);
  expect(link.current).toBeNull();
});

test('a link that is closed holds nothing up', async () => {
  await link.close();
  await giveBacks.job({ run: 7, attempt: 2 });
  expect(server.records).toEqual([]);
});

test.each([{ key: 'key' }, { run: 7, attempt: 2 }])(
  'what nobody has answered for stays noted (%o)',
  async (what) => {
    await link.close();
    giveBacks.note(what);
    await giveBacks.noted();
    expect(giveBacks.pending).toBe(true);
  },
);

test('a job that nobody has answered for is noted', async () => {
  await link.close();
  await giveBacks.job({ run: 7, attempt: 2 });
  expect(giveBacks.pending).toBe(true);
});
