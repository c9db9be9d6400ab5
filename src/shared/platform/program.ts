import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Program {
  readonly pid: number;
  readonly ended: boolean;
  /** Resolves with its first line of standard output, or null where it ended or took longer. */
  firstLine(withinMs: number): Promise<string | null>;
  /** The last of its standard error. */
  errors(): string;
  /** TERM, and waits for its end. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a long-running program of our own beside this one, with just this environment. With
 * `lifeline` it has a session of its own and ends when its standard input does, whatever ends us.
 */
export function startProgram(
  file: string,
  args: readonly string[],
  env: Record<string, string>,
  { lifeline = false }: { lifeline?: boolean } = {},
): Program {
  const child = spawn(file, args, { env, detached: lifeline, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {}); // it has ended: `exited` tells
  if (!lifeline) child.stdin.end();
  const exited = once(child, 'close').catch(() => {});
  let out = '';
  let errors = '';
  let heard = (): void => {};
  child.stdout.on('data', (data: Buffer) => {
    if (out.includes('\n')) return;
    out += data.toString();
    heard();
  });
  child.stderr.on('data', (data: Buffer) => {
    errors = (errors + data.toString()).slice(-2000);
  });
  return {
    pid: child.pid ?? 0,
    get ended() {
      return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
    },
    errors: () => errors.trim(),
    firstLine: async (withinMs) => {
      const line = (): string | null => (out.includes('\n') ? out.slice(0, out.indexOf('\n')) : null);
      if (line() !== null) return line();
      const timer = new AbortController();
      const said = new Promise<void>((resolve) => {
        heard = () => {
          if (line() !== null) resolve();
        };
      });
      const late = new Promise<void>((resolve) => {
        const id = setTimeout(resolve, withinMs);
        timer.signal.addEventListener('abort', () => clearTimeout(id));
      });
      await Promise.race([said, late, exited]);
      timer.abort();
      return line();
    },
    stop: async () => {
      if (lifeline) child.stdin.end();
      else child.kill('SIGTERM');
      await exited;
    },
  };
}
