import type { StepSpec } from '../../shared/job-spec.ts';

/** `sh -e`, or bash as GitHub Actions runs it. */
export function shellArguments(shell: StepSpec['shell'], script: string): string[] {
  if (shell === 'sh') return ['/bin/sh', '-e', script];
  return ['bash', '--noprofile', '--norc', '-eo', 'pipefail', script];
}
