import { type JobSpec, jobSpecSchema } from '../../shared/job-spec.ts';

export type ParsedJob = { ok: true; spec: JobSpec } | { ok: false; why: string };

/** Reads the spec of a `job` message. `why` is one line that names the first field at fault. */
export function parseJob(run: number, attempt: number, spec: unknown): ParsedJob {
  const result = jobSpecSchema.safeParse(spec);
  if (!result.success) {
    const issue = result.error.issues[0];
    const where = issue?.path.join('.') || 'the spec';
    return {
      ok: false,
      why: `a job this runner does not understand: ${where}: ${issue?.message ?? 'invalid'}`,
    };
  }
  if (result.data.run !== run || result.data.attempt !== attempt) {
    return { ok: false, why: 'a job whose spec is another run or attempt than its message' };
  }
  return { ok: true, spec: result.data };
}
