import type { ApiPipelineSummary, ApiRun } from '../../shared/api.ts';
import { plain, shortRef } from '../../shared/plain-text.ts';

const MOST_LINES = 5;

/**
 * A line for each recent pipeline that has no runs because its workflow file has a fault: a table of runs does not
 * show it. `runs` is what is shown; what is older than all of them is left out.
 */
export function faultyPipelines(
  pipelines: readonly ApiPipelineSummary[],
  runs: readonly Pick<ApiRun, 'pipeline'>[],
): string[] {
  const oldest = Math.min(...runs.map((run) => run.pipeline));
  const faulty = pipelines.filter(({ id, fault }) => fault !== null && (runs.length === 0 || id > oldest));
  return faulty.slice(0, MOST_LINES).map(({ id, repository, ref, fault }) => {
    const where = [repository, shortRef(ref)].filter(Boolean).join(', ');
    return plain(`pipeline ${id} (${where}) has no runs: ${(fault ?? '').split('\n', 1)[0]}`);
  });
}
