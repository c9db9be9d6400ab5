import { runNames } from './expand.ts';
import type { Finding } from './findings.ts';
import type { Doubts } from './sound.ts';
import type { Workflow, WorkflowJob } from './types.ts';
import { quoted } from './words.ts';

/**
 * Runs that are shown by one name, or by what another job is asked for with. Only a `name` can do
 * that: what a job is shown by without one is its own.
 */
export function nameFindings(workflow: Workflow, doubts: Doubts): Finding[] {
  const named = workflow.jobs.filter(
    (job) => job.name !== null && !doubts('jobs', job.id, ['name', 'strategy']),
  );
  const owners = new Map<string, string>();
  for (const job of workflow.jobs) {
    for (const word of [job.id, ...runNames(job).map(({ key }) => key)]) owners.set(word, job.id);
  }
  return named.flatMap((job) => {
    const message = clash(job, owners);
    return message === null ? [] : [{ path: ['jobs', job.id, 'name'], what: 'value', message }];
  });
}

/** Why the job's name is none of its own, or null; what it is shown by is then its own. */
function clash(job: WorkflowJob, owners: Map<string, string>): string | null {
  const own = new Set<string>();
  for (const { shown } of runNames(job)) {
    if (own.has(shown)) {
      return `\`name\`: several entries of the matrix are shown as ${quoted(shown, 80)}; expected \`\${{ matrix.NAME }}\` of what they differ in`;
    }
    own.add(shown);
    const owner = owners.get(shown) ?? job.id;
    if (owner !== job.id) {
      return `\`name\`: ${quoted(shown, 80)} is what the job \`${owner}\` goes by; expected a name of its own`;
    }
  }
  for (const shown of own) owners.set(shown, job.id);
  return null;
}
