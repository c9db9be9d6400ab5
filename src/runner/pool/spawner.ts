import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type Program, startProgram } from '../../shared/platform/program.ts';

const START_MS = 10_000;
/** Of a socket in the file system, its NUL included (`sun_path`). */
const LONGEST_ADDRESS = 107;

/** A fork copies what describes the memory of the process: a small heap, and no threads that have more of their own. */
const SMALL_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=128', '--v8-pool-size=0', '--no-opt'];
const SMALL_ENV = { MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1' };

/**
 * The process that spawns the steps of this runner, see `worker/spawner/entry.ts`. Started with the
 * first run, and again with the next one after it has died. Where it does not start, threads spawn by
 * themselves.
 */
export class Spawner {
  readonly #file: string;
  readonly #socket: string;
  #starting: Promise<string | null> | null = null;
  #program: Program | null = null;
  #closed = false;

  /** `socket`: a path of this process's own, short enough for a socket's address. */
  constructor(file: string, socket: string) {
    this.#file = file;
    this.#socket = socket;
  }

  /** The socket to ask, or null. */
  async socket(): Promise<string | null> {
    if (this.#closed || Buffer.byteLength(this.#socket) > LONGEST_ADDRESS) return null;
    if (this.#program?.ended) this.#starting = null;
    this.#starting ??= this.#start();
    return await this.#starting;
  }

  /** Its children are the runs' own to end. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#program?.stop();
    rmSync(this.#socket, { force: true });
  }

  async #start(): Promise<string | null> {
    mkdirSync(path.dirname(this.#socket), { recursive: true, mode: 0o700 });
    rmSync(this.#socket, { force: true });
    const args = [...SMALL_FLAGS, this.#file, this.#socket];
    const program = startProgram(process.execPath, args, SMALL_ENV, { lifeline: true });
    this.#program = program;
    return (await program.firstLine(START_MS)) === 'ready' ? this.#socket : null;
  }
}
