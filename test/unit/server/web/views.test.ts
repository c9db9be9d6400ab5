import { describe, expect, it } from 'vitest';
import { machinesView, runDetailView } from '../../../../src/server/web/views.ts';
import { aRun, aSession } from '../../../support/web-parts.ts';

describe('machines', () => {
  it('count the slots of each of their processes once, connected or not', () => {
    const run = { id: 1, attempt: 1, repository: 'a/b', job: 'x', since: 1, cpus: 1, memoryBytes: 0 };
    const sessions = [
      aSession({ id: '1', machine: 'b', process: 'p2', slot: 1, slots: 2 }),
      aSession({ id: '2', machine: 'b', process: 'p1', slot: 0, slots: 4, run }),
      aSession({ id: '3', machine: 'b', process: 'p2', slot: 0, slots: 2, run, version: '0.2.0' }),
      aSession({ id: '4', machine: 'a', process: 'p3', slot: 0, slots: 1 }),
      aSession({ id: '5', machine: 'c', process: 'p4', slot: -1, slots: 8 }),
    ];
    const { machines } = machinesView(sessions, []);
    expect(machines.map(({ machine, busy, slots }) => [machine, busy, slots])).toEqual([
      ['a', 0, 1],
      ['b', 2, 6],
    ]);
    expect(machines[1]?.sessions.map((session) => session.id)).toEqual(['2', '3', '1']);
    expect(machines[1]?.versions).toEqual(['0.1.0', '0.2.0']);
  });
});

describe('a machine', () => {
  it('adds up what the jobs of its processes claim, and names the runs that they keep room for', () => {
    const run = { id: 1, attempt: 1, repository: 'a/b', job: 'x', since: 1, cpus: 1.1, memoryBytes: 10 };
    const sessions = [
      aSession({ id: 'p1-a', run, cpus: 4 }),
      aSession({ id: 'p1-b', run: { ...run, cpus: 2.2 }, cpus: 4 }),
      aSession({ id: 'p2-c', process: 'p2', cpus: 8 }),
      aSession({ id: 'p3-d', machine: 'other', process: 'p3' }),
    ];
    const kept = [
      { run: 7, process: 'p2' },
      { run: 8, process: 'p4' },
    ];
    const { machines } = machinesView(sessions, kept);
    expect(machines).toMatchObject([
      { machine: 'host1', cpus: 12, heldCpus: 3.3, heldMemoryBytes: 20, keepsRoomFor: [7] },
      { machine: 'other', heldCpus: 0, keepsRoomFor: [] },
    ]);
  });
});

describe('a run', () => {
  it('says why it waits only while it does', () => {
    const wait = { run: 1, state: 'queued', reasons: [{ code: 'cap', text: 'cap' }], place: null } as const;
    expect(runDetailView(aRun({ state: 'queued' }), [], wait).wait).toEqual({
      reasons: [{ code: 'cap', text: 'cap' }],
      place: null,
    });
    expect(runDetailView(aRun({ state: 'running' }), [], wait).wait).toBeNull();
  });

  it('shows neither its session nor its spec', () => {
    expect(Object.keys(runDetailView(aRun({ session: 's' }), [], null))).not.toContain('session');
  });
});
