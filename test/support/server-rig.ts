import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { serverFileSchema } from '../../src/shared/api.ts';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');

export interface ServerProcess {
  readonly dataDir: string;
  readonly httpUrl: string;
  readonly sshPort: number;
  readonly fingerprint: string;
  readonly token: string;
  readonly pid: number;
  /** The line that it printed when it was ready. */
  readonly ready: string;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with its exit status, or null where a signal ended it. */
  readonly exited: Promise<number | null>;
  /** SIGTERM, and its exit status. The data directory stays. */
  stop(): Promise<number | null>;
  /** Ends it in any way and removes the data directory if it was made here. Idempotent. */
  remove(): Promise<void>;
  stderr(): string;
}

export interface StartOptions {
  /** More arguments of `vole server`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A directory to start on again; a temporary one by default. */
  readonly dataDir?: string;
}

/** The built `vole server` on free ports of loopback, as a process of its own. */
export async function startServerProcess(options: StartOptions = {}): Promise<ServerProcess> {
  const made = options.dataDir === undefined ? mkdtempSync(path.join(os.tmpdir(), 'vole-server-')) : null;
  const dataDir = options.dataDir ?? path.join(made ?? '', 'data');
  const ports = ['--http', '127.0.0.1:0', '--ssh', '127.0.0.1:0'].filter(
    (argument, at, all) => !options.args?.includes(at % 2 === 0 ? argument : (all[at - 1] ?? '')),
  );
  const child = spawn(
    process.execPath,
    [bin, 'server', '--data', dataDir, ...ports, ...(options.args ?? [])],
    {
      env: { ...cleanEnv(), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let stderr = '';
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const remove = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
    if (made !== null) rmSync(made, { recursive: true, force: true });
  };
  try {
    const ready = await firstLine(child, () => stderr);
    const facts = serverFileSchema.parse(JSON.parse(readFileSync(path.join(dataDir, 'server.json'), 'utf8')));
    return {
      dataDir,
      httpUrl: facts.http,
      sshPort: Number(facts.ssh.split(':').at(-1)),
      fingerprint: facts.fingerprint,
      token: facts.token,
      pid: facts.pid,
      ready,
      kill: (signal) => void child.kill(signal),
      exited,
      stop: () => {
        child.kill('SIGTERM');
        return exited;
      },
      remove,
      stderr: () => stderr,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** This process's environment without settings of vole. */
export function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VOLE_')));
}

async function firstLine(child: ChildProcess, stderr: () => string): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (part: Buffer) => {
      text += part.toString();
      if (text.includes('\n')) resolve(text);
    });
    child.once('close', (code) => reject(new Error(`the server ended with ${code}: ${stderr()}`)));
  });
}
