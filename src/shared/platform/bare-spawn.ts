import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Spawns a command with no output kept and resolves with its exit code: the least a job can cost. */
export async function runBare(file: string, args: readonly string[]): Promise<number> {
  const child = spawn(file, args, { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? -1;
}
