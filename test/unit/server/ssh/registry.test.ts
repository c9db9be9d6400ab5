import { expect, test } from 'vitest';
import { SessionRegistry } from '../../../../src/server/ssh/registry.ts';

function candidate(id: string, change: { account?: string; slot?: number; process?: string } = {}) {
  const replaced: string[] = [];
  const session = {
    id,
    account: 'a',
    address: '::1',
    machine: 'm',
    process: 'p',
    slot: 0,
    slots: 4,
    version: '0',
    labels: [],
    repos: [],
    engine: 'none',
    cpus: 1,
    memoryBytes: 1,
    since: 1,
    ...change,
  };
  const handOver = () => {
    replaced.push(id);
    return { sessions: [{ id, accepted: new Set<string>() }], settled: Promise.resolve() };
  };
  return { session, replaced: handOver, seen: replaced };
}

test('a session of the same slot replaces its predecessor and does not count twice', () => {
  const registry = new SessionRegistry({ sessions: 1, sessionsOfAccount: 1 });
  const first = candidate('1');
  expect(registry.admit(first)).toMatchObject({ ok: true });
  expect(registry.admit(candidate('2'))).toMatchObject({ ok: true, inherited: { sessions: [{ id: '1' }] } });
  expect(first.seen).toEqual(['1']);
  expect(registry.sessions().map(({ id }) => id)).toEqual(['2']);
  // The predecessor's end comes late and takes nothing of its successor.
  registry.remove('1');
  expect(registry.sessions().map(({ id }) => id)).toEqual(['2']);
  expect(registry.admit(candidate('3', { slot: 1 }))).toMatchObject({ ok: false });
});

test('another account with the same machine, process and slot replaces nobody', () => {
  const registry = new SessionRegistry({ sessions: 9, sessionsOfAccount: 9 });
  const first = candidate('1');
  registry.admit(first);
  registry.admit(candidate('2', { account: 'b' }));
  registry.admit(candidate('3', { process: 'q' }));
  expect(first.seen).toEqual([]);
  expect(registry.sessions()).toHaveLength(3);
});

test('caps hold in all and by account, and a session that goes makes room', () => {
  const registry = new SessionRegistry({ sessions: 3, sessionsOfAccount: 2 });
  for (const slot of [0, 1]) expect(registry.admit(candidate(`a${slot}`, { slot })).ok).toBe(true);
  expect(registry.admit(candidate('a2', { slot: 2 }))).toMatchObject({
    ok: false,
    why: expect.stringContaining('a'),
  });
  expect(registry.admit(candidate('b0', { account: 'b' })).ok).toBe(true);
  expect(registry.admit(candidate('c0', { account: 'c' })).ok).toBe(false);
  registry.remove('a0');
  registry.remove('a0');
  expect(registry.admit(candidate('c0', { account: 'c' })).ok).toBe(true);
});

test('what a session runs is shown while it does', () => {
  const registry = new SessionRegistry({ sessions: 3, sessionsOfAccount: 2 });
  registry.admit(candidate('1'));
  const run = { id: 5, attempt: 1, repository: 'o/n', job: 'j', since: 7, cpus: 1, memoryBytes: 0 };
  registry.setRun('1', run);
  expect(registry.sessions()).toMatchObject([{ id: '1', run }]);
  registry.setRun('1', null);
  registry.setRun('gone', run);
  expect(registry.sessions()).toMatchObject([{ id: '1', run: null }]);
});
