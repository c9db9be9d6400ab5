import { isFinal, type RunState } from '../../shared/outcome.ts';

/** Of a run of the pipeline, what its retry depends on. */
export interface RetriedRun {
  readonly id: number;
  /** As it is shown. */
  readonly job: string;
  readonly kind: 'job' | 'command';
  readonly state: RunState;
  /** What it needs; a run that is not of the pipeline has passed. */
  readonly needs: readonly number[];
  /** The unfinished run that executes it again, or null. */
  readonly retriedAs: number | null;
}

export type RetryPlan = { readonly runs: readonly number[] } | { readonly refused: string };

/**
 * Which runs of a pipeline are executed again, in the order of their ids: those that are asked for, or where
 * `asked` is null all that did not pass, with what needs them and what they need, as far as it did not pass.
 */
export function planRetry(
  pipeline: number,
  runs: readonly RetriedRun[],
  asked: readonly number[] | null,
): RetryPlan {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const stranger = asked?.find((id) => !byId.has(id));
  if (stranger !== undefined) return { refused: `run ${stranger} is not of pipeline ${pipeline}` };
  const wanted = asked === null ? runs.filter(isUnpassed) : asked.flatMap((id) => byId.get(id) ?? []);
  if (wanted.length === 0)
    return { refused: `every run of pipeline ${pipeline} passed: \`vole submit\` runs its jobs anew` };
  const chosen = withDependents(runs, byId, wanted);
  for (const run of wanted) {
    const refused = whyNot(run);
    if (refused !== null) return { refused };
  }
  for (const run of chosen) {
    const refused = whyNotAlong(run);
    if (refused !== null) return { refused };
  }
  return { runs: chosen.map(({ id }) => id).toSorted((a, b) => a - b) };
}

function isUnpassed({ state }: RetriedRun): boolean {
  return state !== 'passed';
}

function whyNot({ id, job, kind, state }: RetriedRun): string | null {
  if (kind === 'command')
    return `run ${id} (${job}) is of a comment: comment the command again on its issue or pull request`;
  if (!isFinal(state))
    return `run ${id} (${job}) has not ended, it is ${state}: wait for it, or \`vole cancel ${id}\` before`;
  if (state === 'passed') return `run ${id} (${job}) passed: \`vole submit\` runs a job anew`;
  return null;
}

function whyNotAlong({ id, job, state, retriedAs }: RetriedRun): string | null {
  if (!isFinal(state))
    return `run ${id} (${job}), which is needed too, has not ended, it is ${state}: wait for it, or \`vole cancel ${id}\` before`;
  if (retriedAs !== null)
    return `run ${id} (${job}) is being retried already, as run ${retriedAs}: wait for that, or \`vole cancel ${retriedAs}\` before`;
  return null;
}

/** A dependent may need other runs that did not pass either, such as the other entries of a matrix. */
function withDependents(
  runs: readonly RetriedRun[],
  byId: ReadonlyMap<number, RetriedRun>,
  wanted: readonly RetriedRun[],
): RetriedRun[] {
  const dependents = new Map<number, RetriedRun[]>();
  for (const run of runs) {
    for (const need of run.needs) {
      const known = dependents.get(need);
      if (known) known.push(run);
      else dependents.set(need, [run]);
    }
  }
  const chosen = new Set<RetriedRun>();
  const open = [...wanted];
  for (let run = open.pop(); run !== undefined; run = open.pop()) {
    if (chosen.has(run)) continue;
    chosen.add(run);
    const needed = run.needs.flatMap((need) => byId.get(need) ?? []);
    open.push(...[...needed, ...(dependents.get(run.id) ?? [])].filter(isUnpassed));
  }
  return [...chosen];
}
