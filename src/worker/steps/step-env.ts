import type { JobSpec, StepSpec } from '../../shared/job-spec.ts';
import type { JobPaths } from '../../shared/worker-messages.ts';

/**
 * The environment of a step: what is declared, the run's facts, HOME, PATH and TMPDIR, and nothing
 * else of the runner's. Later parts win, so a job may set its own PATH; the marker is last, since it is
 * how the run's processes are found again.
 */
export function stepEnvironment(
  spec: JobSpec,
  step: StepSpec,
  paths: JobPaths,
  base: Readonly<Record<string, string>>,
  marker: string,
): Record<string, string> {
  return {
    ...base,
    HOME: paths.home,
    TMPDIR: paths.tmp,
    CI: 'true',
    ...runFacts(spec, paths),
    ...spec.env,
    ...spec.secrets,
    ...step.env,
    VOLE_JOB_MARKER: marker,
  };
}

function runFacts(spec: JobSpec, paths: JobPaths): Record<string, string> {
  return {
    VOLE_RUN: String(spec.run),
    VOLE_ATTEMPT: String(spec.attempt),
    VOLE_PIPELINE: String(spec.pipeline),
    VOLE_REPOSITORY: spec.repository,
    VOLE_JOB: spec.job,
    VOLE_EVENT: spec.event,
    VOLE_TRUST: spec.trust,
    VOLE_WORKSPACE: paths.src,
    VOLE_CACHE: paths.cache,
    ...(spec.source ? { VOLE_REF: spec.source.ref, VOLE_SHA: spec.source.sha } : {}),
  };
}
