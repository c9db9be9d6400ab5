import { suggest } from '../suggest.ts';
import { runNames } from './expand.ts';
import type { ChosenRuns, Workflow } from './types.ts';
import { quoted } from './words.ts';

const MOST_LISTED = 20;
const SHOWN_CHARS = 100;

/**
 * What a person asks for by `words`: the key of a job means all its entries; what a run is shown as, or
 * its key within the pipeline, means that run alone. What they need comes along, of each job all entries.
 * Or in `unknown` what no word of the file is, with the nearest one that is, on one line.
 */
export function chooseRuns(
  workflow: Workflow,
  words: readonly string[],
): { chosen: ChosenRuns } | { unknown: string } {
  const jobs = new Map(workflow.jobs.map((job) => [job.id, job]));
  const runs = new Map(workflow.jobs.flatMap((job) => namesOf(job.id, runNames(job))));
  const chosen = new Map<string, Set<string> | 'all'>();
  const needed: string[] = [];
  for (const word of words) {
    const run = runs.get(word);
    if (jobs.has(word)) needed.push(word);
    else if (run === undefined) return { unknown: unknownWord(word, [...jobs.keys()], [...runs.keys()]) };
    else {
      const before = chosen.get(run.job) ?? new Set<string>();
      if (before !== 'all') chosen.set(run.job, before.add(run.key));
      needed.push(...(jobs.get(run.job)?.needs ?? []));
    }
  }
  for (let id = needed.pop(); id !== undefined; id = needed.pop()) {
    if (chosen.get(id) === 'all') continue;
    chosen.set(id, 'all');
    needed.push(...(jobs.get(id)?.needs ?? []));
  }
  return { chosen };
}

type Named = [word: string, run: { readonly job: string; readonly key: string }];

function namesOf(job: string, names: ReturnType<typeof runNames>): Named[] {
  return names.flatMap(({ key, shown }): Named[] => [
    [shown, { job, key }],
    [key, { job, key }],
  ]);
}

function unknownWord(word: string, jobs: readonly string[], runs: readonly string[]): string {
  const meant = suggest(word, [...jobs, ...runs]);
  const more = jobs.length > MOST_LISTED ? `, and ${jobs.length - MOST_LISTED} more` : '';
  const listed = `it has ${jobs.slice(0, MOST_LISTED).join(', ')}${more}`;
  const nearest = meant === null ? '' : ` (is ${quoted(meant, SHOWN_CHARS)} meant?)`;
  return `no job ${quoted(word, SHOWN_CHARS)}${nearest}; ${listed}`;
}
