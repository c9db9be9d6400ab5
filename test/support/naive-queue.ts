import type { Claim, Run } from '../../src/server/store/store.ts';
import type { Capacity } from '../../src/shared/capacity.ts';
import { matchesRepository } from '../../src/shared/globs.ts';

/** The rules of a claim, told over all runs, with no counter kept: what the lanes must come to as well. */
export function naiveClaim(
  runs: readonly Run[],
  caps: ReadonlyMap<string, number | null>,
  claim: Claim,
): number | null {
  const running = runs.filter(({ state }) => state === 'running');
  const standing = running.find(
    (run) => run.account === claim.account && leases.get(run.id)?.key === claim.key,
  );
  if (standing) return standing.id;
  const busy = (repository: string) => running.filter((run) => run.repository === repository).length;
  const commands = running.filter(({ kind }) => kind === 'command').length;
  const unfinished = (run: Run) => ['received', 'queued', 'running'].includes(run.state);
  const free = claim.free(heldBeside(running, claim.session));
  const eligible = runs.filter(
    (run) =>
      run.state === 'queued' &&
      run.needs.every((need) =>
        runs.some(
          (other) => other.pipeline === run.pipeline && other.key === need && other.state === 'passed',
        ),
      ) &&
      (run.serial === null ||
        !runs.some((other) => other.serial === run.serial && other.id < run.id && unfinished(other))) &&
      run.labels.every((label) => claim.labels.includes(label)) &&
      matchesRepository(claim.repos, run.repository) &&
      run.cpus <= free.cpus &&
      run.memoryBytes <= free.memoryBytes &&
      busy(run.repository) < (caps.get(run.repository) ?? Number.POSITIVE_INFINITY) &&
      (run.kind === 'job' || commands < claim.maxCommands),
  );
  eligible.sort((a, b) => busy(a.repository) - busy(b.repository) || a.id - b.id);
  return eligible[0]?.id ?? null;
}

/** Of each run's latest lease what the store does not show: noted by who claims. */
export const leases = new Map<number, { key: string; session: string }>();

function heldBeside(running: readonly Run[], session: string): Capacity {
  const ofProcess = /^\w+-/.exec(session)?.[0];
  const siblings = running.filter(
    ({ id }) => ofProcess !== undefined && leases.get(id)?.session.startsWith(ofProcess),
  );
  return {
    cpus: siblings.reduce((sum, { cpus }) => sum + cpus, 0),
    memoryBytes: siblings.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
  };
}
