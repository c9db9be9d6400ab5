import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { cleanEnv } from './server-rig.ts';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built program with this standard input to its end. */
export async function voleCommand(
  args: readonly string[],
  options: { input?: string | Uint8Array; env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: options.cwd,
    env: { ...cleanEnv(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (part: Buffer) => (stdout += part.toString()));
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
  child.stdin.on('error', () => {}); // a command that reads none may be gone already
  child.stdin.end(options.input);
  const [code] = await once(child, 'close');
  return { code: code as number | null, stdout, stderr };
}
