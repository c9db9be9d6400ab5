import type { WorkflowJob } from '../../shared/workflow/types.ts';

export type SelectedJobs = { ok: true; jobs: readonly WorkflowJob[] } | { ok: false; why: string };

/** The named jobs with all that they need, in the file's order; every job where none is named. */
export function selectJobs(all: readonly WorkflowJob[], names: readonly string[]): SelectedJobs {
  if (names.length === 0) return { ok: true, jobs: all };
  const byId = new Map(all.map((job) => [job.id, job]));
  const wanted = new Set<string>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (wanted.has(name)) continue;
    const job = byId.get(name);
    if (!job)
      return { ok: false, why: `there is no job \`${name}\`; there are: ${[...byId.keys()].join(', ')}` };
    wanted.add(name);
    open.push(...job.needs);
  }
  return { ok: true, jobs: all.filter((job) => wanted.has(job.id)) };
}
