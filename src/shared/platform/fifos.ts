import { closeSync, constants, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from './commands.ts';

export interface FifoPair {
  readonly stdoutRead: number;
  readonly stdoutWrite: number;
  readonly stderrRead: number;
  readonly stderrWrite: number;
}

const BATCH = 64;

/**
 * FIFOs for the output of steps, for the MAIN THREAD. Node's own pipes to a child are sockets, which
 * `> /dev/stderr` and `tee /dev/stdout` cannot open; a FIFO they can, through `/proc/self/fd`, also
 * after its name is gone. A batch is made by one `mkfifo`; every step gets fresh ones, whose names go
 * at once, so that what one step leaves running can never write into the log of the next.
 */
export class FifoStock {
  readonly #dir: string;
  #made = 0;
  #ready: string[] = [];
  #refill: Promise<void> | null = null;

  /** `dir` is this process's own and is removed by `close`. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Opens two FIFOs. The descriptors are the taker's to close. */
  async take(): Promise<FifoPair> {
    while (this.#ready.length < 2) await this.#fill();
    if (this.#ready.length < BATCH / 4) void this.#fill().catch(() => {});
    const [stdoutRead, stdoutWrite] = openBoth(this.#ready.pop() ?? '');
    try {
      const [stderrRead, stderrWrite] = openBoth(this.#ready.pop() ?? '');
      return { stdoutRead, stdoutWrite, stderrRead, stderrWrite };
    } catch (error) {
      closeSync(stdoutRead);
      closeSync(stdoutWrite);
      throw error;
    }
  }

  /** What is just being made is waited for. Idempotent. */
  async close(): Promise<void> {
    await this.#refill?.catch(() => {});
    rmSync(this.#dir, { recursive: true, force: true });
    this.#ready = [];
  }

  async #fill(): Promise<void> {
    this.#refill ??= this.#make().finally(() => {
      this.#refill = null;
    });
    await this.#refill;
  }

  async #make(): Promise<void> {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    const names = Array.from({ length: BATCH }, () => path.join(this.#dir, String(this.#made++)));
    const done = await runCommand('mkfifo', ['-m', '600', ...names], { timeoutMs: 30_000 });
    // On a disk that became full some were made: they are as good as any.
    this.#ready.push(...(done.ok ? names : names.filter((name) => existsSync(name))));
    if (this.#ready.length < 2) throw new Error(`FIFOs for the output of steps: ${done.why}`);
  }
}

/** The read end first and without waiting for a writer; its name is removed once both are open. */
function openBoth(file: string): [number, number] {
  const read = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const write = openSync(file, constants.O_WRONLY);
    rmSync(file, { force: true });
    return [read, write];
  } catch (error) {
    closeSync(read);
    throw error;
  }
}
