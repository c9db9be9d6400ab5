import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, statSync } from 'node:fs';
import { oneLine } from '../errors.ts';

export interface StepCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Write ends for its output. Closed here whatever happens. */
  readonly stdoutFd: number;
  readonly stderrFd: number;
}

export type StepExit = { exitCode: number; signal: null } | { exitCode: null; signal: NodeJS.Signals };

export type Spawned = { ok: true; pgid: number; exited: Promise<StepExit> } | { ok: false; why: string };

/** One string of the environment may be this long on Linux (MAX_ARG_STRLEN), its NUL included. */
const LONGEST_VARIABLE = 128 * 1024;

/**
 * Starts a step in a process group and session of its own, its input empty. What the kernel refuses is
 * a value that says which part of the command was at fault.
 */
export async function spawnStep(command: StepCommand): Promise<Spawned> {
  try {
    const fault = environmentFault(command.env);
    if (fault) return { ok: false, why: fault };
    const child = spawn(command.file, command.args, {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: ['ignore', command.stdoutFd, command.stderrFd],
    });
    if (child.pid === undefined) return { ok: false, why: await spawnError(child, command) };
    return { ok: true, pgid: child.pid, exited: exitOf(child) };
  } catch (error) {
    const tooBig = (error as NodeJS.ErrnoException).code === 'E2BIG';
    return { ok: false, why: tooBig ? 'the environment is too large for the kernel' : oneLine(error) };
  } finally {
    closeSync(command.stdoutFd);
    closeSync(command.stderrFd);
  }
}

/** Which variable the kernel would not take, whoever starts the process; null where it takes all. */
export function environmentFault(env: Readonly<Record<string, string>>): string | null {
  for (const [name, value] of Object.entries(env)) {
    if (value.includes('\0')) return `variable ${name} has a NUL byte, which no environment can hold`;
    const bytes = Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
    if (bytes > LONGEST_VARIABLE)
      return `variable ${name} has ${bytes} bytes; the kernel takes ${LONGEST_VARIABLE}`;
  }
  return null;
}

/** Node reports a working directory that is not there as a program that is not there. */
async function spawnError(child: ChildProcess, command: StepCommand): Promise<string> {
  const error = await new Promise<NodeJS.ErrnoException>((resolve) => child.once('error', resolve));
  const cwd = statSync(command.cwd, { throwIfNoEntry: false });
  if (!cwd?.isDirectory()) return `working directory ${command.cwd} is not there`;
  if (error.code === 'ENOENT') return `${command.file} is not on this host`;
  if (error.code === 'E2BIG') return 'the environment is too large for the kernel';
  return `${command.file}: ${oneLine(error)}`;
}

function exitOf(child: ChildProcess): Promise<StepExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? { exitCode: code ?? 0, signal: null } : { exitCode: null, signal });
    });
  });
}
