import { existsSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import type { SmallLogStore } from '../store/store.ts';
import { AppendFile } from './append-file.ts';
import { KeptFolder } from './kept-folder.ts';
import type { LogFiles } from './log-files.ts';

/** Runs whose logs share a folder: making a file in one that is there costs the disk the least. */
const RUNS_A_FOLDER = 1_000;

/**
 * Small logs in the database, long ones as files, opened when first written to and closed when idle. A log
 * that grows too long for the database is copied to its file; only when that is durable the database
 * forgets it, so whatever is there counts.
 */
export class LogStore implements LogFiles {
  readonly #root: string;
  readonly #small: SmallLogStore;
  readonly #idleMs: number;
  readonly #files = new Map<string, AppendFile>();
  readonly #listeners = new Map<string, Set<() => void>>();
  /** The one that new files go to. */
  #folder: KeptFolder | null = null;

  constructor(root: string, small: SmallLogStore, idleMs: number) {
    this.#root = root;
    this.#small = small;
    this.#idleMs = idleMs;
  }

  async append(run: number, attempt: number, offset: number, bytes: Uint8Array): Promise<number> {
    const name = this.#path(run, attempt);
    const length =
      (await this.#appendSmall(name, run, attempt, offset, bytes)) ??
      (await this.#appendToFile(name, run, attempt, offset, bytes));
    if (length === offset + bytes.length && bytes.length > 0) this.#grown(name);
    return length;
  }

  staysSmall(run: number, attempt: number, length: number): boolean {
    return this.#small.takes(length) && this.#isSmall(this.#path(run, attempt), run, attempt);
  }

  async length(run: number, attempt: number): Promise<number> {
    const name = this.#path(run, attempt);
    const small = this.#small.length(run, attempt);
    if (small !== null) return small;
    try {
      return (await stat(name)).size;
    } catch (error) {
      if (isMissing(error)) return 0;
      throw error;
    }
  }

  async read(run: number, attempt: number, offset: number, maxBytes: number): Promise<Buffer> {
    const name = this.#path(run, attempt);
    const small = this.#small.read(run, attempt);
    if (small !== null) return small.subarray(offset, offset + maxBytes);
    try {
      const handle = await open(name, 'r');
      try {
        return await readSome(handle, offset, maxBytes);
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (isMissing(error)) return Buffer.alloc(0);
      throw error;
    }
  }

  onGrowth(run: number, attempt: number, listener: () => void): () => void {
    const name = this.#path(run, attempt);
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    // Wrapped, so that the same function may listen twice.
    const entry = () => listener();
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      if (listeners.size === 0 && this.#listeners.get(name) === listeners) this.#listeners.delete(name);
    };
  }

  /** Waits for what is being written and closes all files. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => file.close()));
    await this.#folder?.close();
  }

  /** Null where the log is, or becomes, a file. Begins in this turn of the event loop. */
  async #appendSmall(
    name: string,
    run: number,
    attempt: number,
    offset: number,
    bytes: Uint8Array,
  ): Promise<number | null> {
    if (!this.#isSmall(name, run, attempt)) return null;
    const length = await this.#small.append(run, attempt, offset, bytes);
    return length === 'full' ? null : length;
  }

  #appendToFile(
    name: string,
    run: number,
    attempt: number,
    offset: number,
    bytes: Uint8Array,
  ): Promise<number> {
    const known = this.#files.get(name);
    if (known) return known.append(offset, bytes);
    const beginning = {
      bytes: () => this.#small.read(run, attempt),
      moved: (length: number) => this.#small.remove(run, attempt, length),
    };
    const folder = this.#folderOf(path.dirname(name));
    const onIdle = () => void this.#files.delete(name);
    const file = new AppendFile(name, { folder, beginning, idleMs: this.#idleMs, onIdle });
    this.#files.set(name, file);
    return file.append(offset, bytes);
  }

  /** One that is there in neither is small. */
  #isSmall(name: string, run: number, attempt: number): boolean {
    if (this.#files.has(name)) return false;
    return this.#small.length(run, attempt) !== null || !existsSync(name);
  }

  #path(run: number, attempt: number): string {
    const folder = String(Math.floor(Number(number(run)) / RUNS_A_FOLDER));
    return path.join(this.#root, folder, `${run}-${number(attempt)}.log`);
  }

  #folderOf(folder: string): KeptFolder {
    if (this.#folder?.path === folder) return this.#folder;
    const before = this.#folder;
    this.#folder = new KeptFolder(folder);
    void before?.close();
    return this.#folder;
  }

  #grown(name: string): void {
    this.#listeners.get(name)?.forEach((listener) => listener());
  }
}

/** As much as there is, up to `maxBytes`. */
async function readSome(
  handle: {
    read(buffer: Buffer, at: number, length: number, position: number): Promise<{ bytesRead: number }>;
  },
  offset: number,
  maxBytes: number,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(maxBytes);
  let done = 0;
  while (done < maxBytes) {
    const { bytesRead } = await handle.read(buffer, done, maxBytes - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Part of a path: nothing but a positive whole number ever becomes one. */
export function number(value: number): string {
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${value} is no run and no attempt`);
  return String(value);
}
