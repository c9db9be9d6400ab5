import { ERRORS, oneLine, VoleError } from '../shared/errors.ts';
import type { Environment } from '../shared/settings/resolve.ts';
import { readText } from './read-text.ts';

/**
 * What a command may know and do of the process it runs in; tests give one of their own. The exit
 * code starts at 0 and is set by an action that ends without throwing.
 */
export interface CliContext {
  readonly env: Environment;
  readonly cwd: string;
  /** Whether standard output is a terminal. */
  readonly interactive: boolean;
  /** Whether standard error is one. */
  readonly stderrInteractive: boolean;
  /** Width of the terminal; 80 where there is none. */
  readonly columns: number;
  exitCode: number;
  /**
   * What happens when whoever read our output has gone: `end` the process quietly, or go on without.
   * A command that has started something sets a function that brings it to its end, called once.
   */
  onClosedOutput: 'end' | 'ignore' | (() => void);
  /** At its end the process does not wait until standard output was taken: its reader may stand still for ever. */
  leavesOutput: boolean;
  stdout(text: string): void;
  /** For much output: resolves when it was taken, so that a slow reader slows the writer. */
  write(bytes: Uint8Array): Promise<void>;
  stderr(text: string): void;
  /** All of standard input as text, at most 64 MiB of it. */
  stdin(): Promise<string>;
  /** Calls back at each signal until the returned function is called. */
  onSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGWINCH', listener: () => void): () => void;
}

/** The context of the real process. */
export function processContext(): CliContext {
  const context: CliContext = {
    env: process.env,
    get cwd() {
      return workingFolder();
    },
    interactive: process.stdout.isTTY ?? false,
    stderrInteractive: process.stderr.isTTY ?? false,
    get columns() {
      return process.stdout.columns || 80;
    },
    exitCode: 0,
    onClosedOutput: 'end',
    leavesOutput: false,
    stdout: (text) => void process.stdout.write(text),
    write: (bytes) =>
      new Promise((resolve) => {
        process.stdout.write(bytes, () => resolve());
      }),
    stderr: (text) => void process.stderr.write(text),
    stdin: () => readText(process.stdin, 'standard input'),
    onSignal: (signal, listener) => {
      process.on(signal, listener);
      return () => void process.off(signal, listener);
    },
  };
  // 141 is what a shell reports of a program that SIGPIPE ended; Node ignores the signal itself.
  let closed = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const { onClosedOutput } = context;
    if (onClosedOutput === 'ignore' || closed) return;
    closed = true;
    // Any other fault, such as a full disk, is not the reader's doing, and is said.
    const isReaderGone = error.code === 'EPIPE';
    if (!isReaderGone) context.stderr(`vole: cannot write standard output: ${oneLine(error)}\n`);
    if (onClosedOutput !== 'end') return onClosedOutput();
    const { exit } = ERRORS[error.code === 'ENOSPC' ? 'disk-full' : 'io-error'];
    process.exit(isReaderGone ? 141 : exit);
  });
  process.stderr.on('error', () => {});
  return context;
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new VoleError('io-error', 'the working directory is not there any more: change to another one', {
      cause: error,
    });
  }
}
