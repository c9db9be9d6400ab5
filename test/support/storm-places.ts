import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { TestEngine } from './engine-rig.ts';
import { IN_PID_NAMESPACE, programOf } from './lock-children.ts';
import { until } from './until.ts';

/** A process of a storm, wherever it runs; signals reach the program itself. */
export interface StormProcess {
  readonly out: Readable;
  /** Whether it is known to have ended. */
  readonly ended: boolean;
  /** Does nothing where it has ended meanwhile. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Resolves when all is read that it said. */
  whenEnded(): Promise<void>;
}

/** Starts a program with its arguments. */
export type StormPlace = (line: readonly string[]) => StormProcess;

export const onHost: StormPlace = (line) => startedHere(line, (child) => child.pid ?? 0);

/** What makes the namespace is never signalled itself: stopped, it would not see its program end. */
export const inPidNamespace: StormPlace = (line) =>
  startedHere([...IN_PID_NAMESPACE, ...line], async (child) => {
    const { pid } = await until('a program in its namespace', () => {
      if (child.exitCode !== null || child.signalCode !== null) return { pid: 0 };
      const pid = programOf(child, true);
      return pid > 0 && { pid };
    });
    return pid;
  });

/** Its pid is that of the program that gets the signals, as this process sees it; 0 has ended. */
function startedHere(
  line: readonly string[],
  pidOf: (child: ChildProcess) => number | Promise<number>,
): StormProcess {
  const [program = '', ...args] = line;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const closed = once(child, 'close');
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    out: child.stdout,
    get ended() {
      return ended();
    },
    signal: async (signal) => {
      try {
        const pid = await pidOf(child);
        if (pid > 0 && !ended()) process.kill(pid, signal);
      } catch (error) {
        if (!['ESRCH', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      }
    },
    whenEnded: async () => void (await closed),
  };
}

const root = path.resolve(import.meta.dirname, '../..');

/**
 * Containers without a network that share a directory by a volume, each with a program of the host as its
 * first process: what it needs of the host is mounted and cannot be written.
 */
export class StormContainers {
  readonly #engine: TestEngine;
  readonly #dir: string;
  readonly #label: string;
  #made = 0;

  constructor(engine: TestEngine, dir: string) {
    this.#engine = engine;
    this.#dir = dir;
    this.#label = `vole.test=${path.basename(dir)}`;
  }

  readonly place: StormPlace = (line) => {
    const name = `${path.basename(this.#dir)}-${this.#made++}`;
    const { facts, image } = this.#engine;
    const user = `${process.getuid?.()}:${process.getgid?.()}`;
    const own = ['--rm', '--network', 'none', '--name', name, '--label', this.#label, '--user', user];
    const mounts = ['--volume', `${this.#dir}:${this.#dir}`, ...this.#hostFolders()];
    return startedHere([facts.name, 'run', ...own, ...mounts, image, ...line], (client) =>
      this.#pidOf(name, line, client),
    );
  };

  /** Names of those that are there. */
  left(): Promise<string[]> {
    return this.#engine.containers(this.#label);
  }

  async removeAll(): Promise<void> {
    await until('the containers to be gone', async () => {
      const left = await this.left();
      // What ended by itself, the engine may be removing too.
      await Promise.allSettled(left.map((name) => this.#engine.call('rm', '--force', name)));
      return left.length === 0;
    });
  }

  #hostFolders(): string[] {
    const prefix = path.dirname(path.dirname(realpathSync(process.execPath)));
    const folders = ['/usr', '/lib', '/lib64', root, realpathSync(path.join(root, 'node_modules'))];
    if (prefix !== '/usr' && !prefix.startsWith('/usr/')) folders.push(prefix);
    return folders
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => ['--volume', `${realpathSync(folder)}:${folder}:ro`]);
  }

  /**
   * Waits until it runs. Looked at before it is signalled: its number is first that of the engine's own
   * program, which becomes it, and later may mean another process.
   */
  async #pidOf(name: string, line: readonly string[], client: ChildProcess): Promise<number> {
    const { pid } = await until(`container ${name} to run`, async () => {
      if (client.exitCode !== null || client.signalCode !== null) return { pid: 0 };
      const said = await this.#engine.engine.call(['inspect', '--format', '{{.State.Pid}}', name]);
      const pid = said.ok ? Number(said.value) : 0;
      return pid > 0 && isCommand(pid, line) && { pid };
    });
    return pid;
  }
}

function isCommand(pid: number, line: readonly string[]): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return line.every((word, at) => words[at] === word);
  } catch {
    return false; // it has ended
  }
}
