import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { until } from './until.ts';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The built program as a process of its own. */
export class VoleProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  #stdout = '';
  #stderr = '';

  /** `command`: what starts it in place of Node and the built program. */
  constructor(
    args: readonly string[],
    options: { cwd?: string; env?: Record<string, string>; command?: readonly string[] } = {},
  ) {
    const env = { ...process.env, ...options.env };
    for (const name of Object.keys(env)) {
      if (name.startsWith('VOLE_') && !options.env?.[name]) delete env[name];
    }
    const [program = '', ...before] = options.command ?? [process.execPath, bin];
    this.child = spawn(program, [...before, ...args], {
      cwd: options.cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (data: Buffer) => {
      this.#stdout += data.toString();
    });
    this.child.stderr?.on('data', (data: Buffer) => {
      this.#stderr += data.toString();
    });
    this.ended = once(this.child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Waits for text on standard output or error. */
  async says(pattern: RegExp, deadlineMs = 30_000): Promise<RegExpExecArray> {
    const what = `${pattern} in\n${this.#stdout}\n${this.#stderr}`;
    return await until(
      what,
      () => pattern.exec(this.#stdout) ?? pattern.exec(this.#stderr),
      deadlineMs,
    ).catch(() => {
      throw new Error(`never said ${pattern}; it said\n${this.#stdout}\n${this.#stderr}`);
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** By a SIGTERM that is not taken for the one before, as it would be within a second. */
  async killAgain(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1050));
    this.kill('SIGTERM');
  }

  /** Ends it whatever it does, and waits until it has. */
  async destroy(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.kill('SIGCONT');
      this.kill('SIGKILL');
    }
    await this.ended;
  }
}

/** Runs a command line to its end. */
export async function vole(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const running = new VoleProcess(args, options);
  const { code } = await running.ended;
  return { code, stdout: running.stdout, stderr: running.stderr };
}
