import { expect, it } from 'vitest';
import { type OwnerFacts, ownerState } from '../../../../src/runner/sweep/owner-state.ts';
import { parseOwner } from '../../../../src/shared/owner-file.ts';
import type { OwnerRecord } from '../../../../src/shared/owner-record.ts';

const record = parseOwner(
  JSON.stringify({
    version: 1,
    directory: 'd',
    bootId: 'this',
    pidNamespace: 'here',
    process: 'p',
    pid: 10,
    pidStart: '5',
    run: 1,
    attempt: 1,
    server: 's',
    repository: 'team/app',
    account: 'a',
    namespace: 'n',
    git: null,
    cgroup: null,
    marker: 'm',
    startedAt: 1,
  }),
) as OwnerRecord;

const process = { pid: 1, state: 'S', ppid: 1, pgid: 1, start: '1' };

function facts(change: Partial<OwnerFacts>): OwnerFacts {
  return {
    bootId: 'this',
    pidNamespace: 'here',
    sameProcessAlive: () => false,
    pidNamespaceIsGone: () => false,
    leftovers: () => [],
    ...change,
  };
}

it.each([
  {
    state: 'dead',
    of: 'another boot, whatever lives',
    change: { bootId: 'that', sameProcessAlive: () => true },
  },
  { state: 'dead', of: 'another boot and namespace', change: { bootId: 'that', pidNamespace: 'there' } },
  { state: 'unknown', of: 'another pid namespace of this boot', change: { pidNamespace: 'there' } },
  {
    state: 'dead',
    of: 'another pid namespace that is gone, whose pids are others here',
    change: { pidNamespace: 'there', pidNamespaceIsGone: () => true, sameProcessAlive: () => true },
  },
  { state: 'alive', of: 'a process with its pid and start', change: { sameProcessAlive: () => true } },
  { state: 'leftovers', of: 'processes of the job alone', change: { leftovers: () => [process] } },
  { state: 'dead', of: 'nothing', change: {} },
] as const)('$state: $of', ({ state, change }) => {
  expect(ownerState(record, facts(change))).toBe(state);
});

it('leftovers: a container that may exist, of which only its engine can tell, until the next boot', () => {
  const object = { kind: 'container', engine: 'docker', name: 'x' } as const;
  const contained = { ...record, engineObjects: [object] };
  expect(ownerState(contained, facts({}))).toBe('leftovers');
  expect(ownerState(contained, facts({ bootId: 'that' }))).toBe('dead');
});
