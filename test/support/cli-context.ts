import type { CliContext } from '../../src/cli/context.ts';

export interface RecordedContext extends CliContext {
  readonly out: string;
  readonly err: string;
}

/** A context that keeps what a command says. */
export function recordedContext(
  given: { env?: Record<string, string>; cwd?: string; stdin?: string; columns?: number } = {},
): RecordedContext {
  const said = { out: '', err: '' };
  return {
    env: given.env ?? {},
    cwd: given.cwd ?? '/',
    interactive: false,
    stderrInteractive: false,
    columns: given.columns ?? 80,
    exitCode: 0,
    onClosedOutput: 'end',
    leavesOutput: false,
    stdout: (text) => void (said.out += text),
    write: async (bytes) => void (said.out += Buffer.from(bytes).toString()),
    stderr: (text) => void (said.err += text),
    stdin: async () => given.stdin ?? '',
    onSignal: () => () => {},
    get out() {
      return said.out;
    },
    get err() {
      return said.err;
    },
  };
}
