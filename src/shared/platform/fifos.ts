import { closeSync, constants, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from './commands.ts';
import { closeDescriptors } from './descriptors.ts';

export interface FifoPair {
  readonly stdoutRead: number;
  readonly stdoutWrite: number;
  readonly stderrRead: number;
  readonly stderrWrite: number;
  /**
   * To be called once, when nobody uses them any more. `drained`: both were read to their end, so nobody
   * holds them open and nothing is in them.
   */
  done(drained: boolean): void;
  /** Before `done`: closes what a thread that has ended has left open of them. */
  closeLeft(): void;
}

/** Enough for as many slots as are usual; a busy runner uses the same ones again. */
const BATCH = 16;

/**
 * FIFOs for the output of steps, for the MAIN THREAD. Node's own pipes to a child are sockets, which
 * `> /dev/stderr` and `tee /dev/stdout` cannot open; a FIFO they can, through `/proc/self/fd`. A batch
 * is made by one `mkfifo`. A FIFO is used again by another step once it was read to its end, which is
 * when the last process has closed it; one that was not is never used again, so that what a step
 * leaves running cannot write into the log of another.
 */
export class FifoStock {
  readonly #dir: string;
  #made = 0;
  #ready: string[] = [];
  #refill: Promise<void> | null = null;
  #closed = false;

  /** `dir` is this process's own and is removed by `close`. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Opens two FIFOs. The descriptors are the taker's to close. */
  async take(): Promise<FifoPair> {
    while (this.#ready.length < 2) await this.#fill();
    const names = this.#ready.splice(-2);
    const [stdout = '', stderr = ''] = names;
    const closeLeft = (): void => closeDescriptors((file) => names.includes(file));
    try {
      const [stdoutRead, stdoutWrite] = openBoth(stdout);
      try {
        const [stderrRead, stderrWrite] = openBoth(stderr);
        return { stdoutRead, stdoutWrite, stderrRead, stderrWrite, done: this.#done(names), closeLeft };
      } catch (error) {
        closeSync(stdoutRead);
        closeSync(stdoutWrite);
        throw error;
      }
    } catch (error) {
      this.#drop(names);
      throw error;
    }
  }

  #done(names: readonly string[]): (drained: boolean) => void {
    let open = true;
    return (drained) => {
      if (!open) return;
      open = false;
      if (drained && !this.#closed) this.#ready.push(...names);
      else this.#drop(names);
    };
  }

  #drop(names: readonly string[]): void {
    for (const name of names) rmSync(name, { force: true });
  }

  /** What is just being made is waited for. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
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

/** The read end first and without waiting for a writer. */
function openBoth(file: string): [number, number] {
  const read = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return [read, openSync(file, constants.O_WRONLY)];
  } catch (error) {
    closeSync(read);
    throw error;
  }
}
