import { rmSync, writeFileSync } from 'node:fs';
import type { StepSpec } from '../../shared/job-spec.ts';

/** `sh -e`, or bash as GitHub Actions runs it. */
export function shellArguments(shell: StepSpec['shell'], script: string): string[] {
  if (shell === 'sh') return ['/bin/sh', '-e', script];
  return ['bash', '--noprofile', '--norc', '-eo', 'pipefail', script];
}

/** Writes a step's script; what a step before it has put there goes. Throws. */
export function writeScript(file: string, script: string): void {
  const write = (): void =>
    writeFileSync(file, script.endsWith('\n') ? script : `${script}\n`, { flag: 'wx' });
  try {
    write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    rmSync(file, { force: true, recursive: true });
    write();
  }
}
