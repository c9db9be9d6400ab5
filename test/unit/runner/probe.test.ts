import { beforeEach, describe, expect, it } from 'vitest';
import type { RunnerOptions } from '../../../src/runner/options.ts';
import { probe } from '../../../src/runner/probe.ts';
import type { DeadRun, Swept } from '../../../src/runner/sweep/sweep.ts';
import { FakeServer, PASSED } from '../../support/fake-network.ts';
import { until } from '../../support/until.ts';

let server: FakeServer;
let said: string[];
let told: AbortController;
beforeEach(() => {
  server = new FakeServer();
  said = [];
  told = new AbortController();
});

/** A run whose tree is gone once it says so. */
const dead = (run: number, facts: Partial<DeadRun> = {}): DeadRun => ({
  run,
  attempt: 1,
  server: 'abcd',
  account: 'a',
  spool: '/nowhere',
  ended: null,
  leftAt: Date.now(),
  dispose: () => void said.push(`tree ${run} gone`),
  putBack: () => void said.push(`tree ${run} back`),
  ...facts,
});
const leases = (...keys: string[]) => ({
  keys,
  from: { server: 'abcd', account: 'a' },
  leftAt: Date.now(),
  dispose: () => void said.push(`keys ${keys.join()} gone`),
  putBack: () => void said.push(`keys ${keys.join()} back`),
});

const start = (left: Pick<Swept, 'dead' | 'leases'>): Promise<string | null> => {
  const note = (facts: object, line: string): void => void said.push(`${line} ${JSON.stringify(facts)}`);
  const options: Pick<RunnerOptions, 'connect' | 'endpoint' | 'backoffMs' | 'log'> = {
    connect: server.connect,
    endpoint: { host: 'h', port: 1, account: 'a', privateKey: Buffer.alloc(0), hostKeys: [] },
    backoffMs: () => 0,
    log: { debug: note, info: note, warn: note },
  };
  return probe(options as RunnerOptions, 'none', left, told.signal);
};
const gone = (): string[] => said.filter((line) => line.endsWith('gone'));

describe('a start that is told to end while it reports the runs of a dead runner', () => {
  it('removes the trees of those that the server has taken, and leaves the others to the next', async () => {
    const abort = (): null => {
      told.abort();
      return null;
    };
    server.onRecord = () => (server.records.length === 0 ? abort() : server.hangUp());
    await start({ dead: [dead(1), dead(2)], leases: [leases('k')] });
    expect(server.records.length).toBe(1);
    expect(gone()).toEqual(['tree 1 gone']);
    expect(said.join('\n')).not.toContain('abandoned');
  });

  it('asks nobody where it was told to before, and leaves everything', async () => {
    told.abort();
    expect(await start({ dead: [dead(1)], leases: [leases('k')] })).toBe(null);
    expect([server.connects, said]).toEqual([0, []]);
  });
});

it('a tree goes where the server knows better, or is another one', async () => {
  server.onRecord = () => ({ type: 'stale', why: 'it is over' });
  await start({ dead: [dead(1), dead(2, { server: 'other' }), dead(3, { account: 'b' })], leases: [] });
  expect(gone().toSorted()).toEqual(['tree 1 gone', 'tree 2 gone', 'tree 3 gone']);
});

it('a run that had ended is reported as it had, and one that had not as lost', async () => {
  const outcome = { ...PASSED, result: 'failed', reason: 'exit', detail: 'exit status 1' } as const;
  await start({ dead: [dead(1, { ended: { outcome, logLength: 0 } }), dead(2)], leases: [] });
  expect(server.records.map((record) => record.outcome)).toMatchObject([outcome, { result: 'lost' }]);
  expect(said.join('\n')).toMatch(/reported as failed .*"run":1.*reported as lost .*"run":2/s);
});

it.each([{ server: 'other' }, { account: 'b' }])(
  'a result of another (%o) waits for its own, not for ever',
  async (other) => {
    const ended = { outcome: PASSED, logLength: 0 };
    const long = Date.now() - 8 * 86_400_000;
    await start({
      dead: [dead(1, { ended, ...other }), dead(2, { ended, ...other, leftAt: long })],
      leases: [],
    });
    expect([server.records, gone()]).toEqual([[], ['tree 2 gone']]);
    expect(said).toContain('tree 1 back');
  },
);

it('a run that is over already is not said to be reported', async () => {
  server.onRecord = () => ({ type: 'stale', why: 'it is over' });
  await start({ dead: [dead(1)], leases: [] });
  expect(said).toEqual([expect.stringMatching(/^over already, not reported/), 'tree 1 gone']);
});

it('results that wait for the log of another to be sent keep their leases', async () => {
  const ended = { outcome: PASSED, logLength: 0 };
  const beaten: number[] = [];
  server.onHeartbeat = (run) => {
    beaten.push(run);
    return null;
  };
  server.onRecord = async () => {
    await until('all to be told of', () => [2, 3].every((run) => beaten.includes(run)));
    return { type: 'ok' };
  };
  await start({ dead: [dead(1, { ended }), dead(2, { ended }), dead(3, { ended }), dead(4)], leases: [] });
  expect(beaten).not.toContain(4);
  expect(gone()).toHaveLength(4);
});

describe('keys of leases', () => {
  it.each([{ server: 'other' }, { account: 'b' }])(
    'of another (%o) wait for its own, not for ever',
    async (other) => {
      const from = { server: 'abcd', account: 'a', ...other };
      const leftAt = Date.now() - 8 * 86_400_000;
      server.onLease = () => ({ type: 'idle' });
      await start({
        dead: [],
        leases: [
          { ...leases('new'), from },
          { ...leases('old'), from, leftAt },
        ],
      });
      expect(said).toEqual(['keys new back', 'keys old gone']);
    },
  );

  it('go once the server has answered for all of them, after the runs that had begun', async () => {
    const asked: string[] = [];
    server.onLease = ({ key }) => {
      asked.push(key);
      if (key === 'empty') return { type: 'idle' };
      return { type: 'job', run: 9, attempt: 1, spec: {}, accepted: false };
    };
    expect(await start({ dead: [dead(1)], leases: [leases('empty', 'full')] })).toBe('abcd');
    expect(asked).toEqual(['empty', 'full']);
    expect(server.records.map(({ outcome }) => outcome.result)).toEqual(['lost', 'interrupted']);
    expect(gone()).toEqual(['tree 1 gone', 'keys empty,full gone']);
  });

  it.each(['of the lease', 'of the record'])('stay where the answer %s did not come', async (which) => {
    const end = () => {
      told.abort();
      return server.hangUp();
    };
    const job = { type: 'job', run: 9, attempt: 1, spec: {}, accepted: false } as const;
    server.onLease = () => (which === 'of the lease' ? (end() as ReturnType<typeof server.onLease>) : job);
    server.onRecord = end;
    await start({ dead: [], leases: [leases('full')] });
    expect([server.records, gone()]).toEqual([[], []]);
  });
});
