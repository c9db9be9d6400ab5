import type { NewRun } from '../../server/store/store.ts';
import type { StepSpec } from '../../shared/job-spec.ts';

/** A run as the benchmarks queue it: no checkout, and a step for each command. */
export function benchRun(
  job: string,
  where: Pick<NewRun['spec'], 'repository' | 'image'>,
  commands: readonly string[],
): NewRun {
  return {
    key: job,
    job,
    needs: [],
    labels: [],
    cpus: 1,
    memoryBytes: 0,
    serial: null,
    retryLost: false,
    failFast: null,
    kind: 'job',
    state: 'queued',
    spec: {
      ...where,
      trust: 'trusted',
      job,
      event: 'manual',
      source: null,
      services: [],
      imageFile: null,
      imagePull: null,
      env: {},
      agent: null,
      steps: commands.map(step),
      artifacts: [],
      timeoutMs: 600_000,
      cpus: 1,
      memoryBytes: 0,
    },
  };
}

function step(run: string, index: number): StepSpec {
  const rest = { env: {}, if: 'success', continueOnError: false, timeoutMs: null } as const;
  return { kind: 'run', name: `step ${index + 1}`, run, shell: 'sh', workingDirectory: '.', ...rest };
}
