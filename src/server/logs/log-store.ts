import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppendFile } from './append-file.ts';
import { KeptFolder } from './kept-folder.ts';
import type { LogFiles } from './log-files.ts';

/** Runs whose logs share a folder: making a file in one that is there costs the disk the least. */
const RUNS_A_FOLDER = 1_000;

/** Logs as files, opened when first written to and closed when idle. */
export class LogStore implements LogFiles {
  readonly #root: string;
  readonly #idleMs: number;
  readonly #files = new Map<string, AppendFile>();
  readonly #listeners = new Map<string, Set<() => void>>();
  /** The one that new logs go to. */
  #folder: KeptFolder | null = null;

  constructor(root: string, idleMs: number) {
    this.#root = root;
    this.#idleMs = idleMs;
  }

  async append(run: number, attempt: number, offset: number, bytes: Uint8Array): Promise<number> {
    const name = this.#path(run, attempt);
    const length = await this.#file(name).append(offset, bytes);
    if (length === offset + bytes.length && bytes.length > 0) this.#grown(name);
    return length;
  }

  async length(run: number, attempt: number): Promise<number> {
    const name = this.#path(run, attempt);
    try {
      return (await stat(name)).size;
    } catch (error) {
      if (isMissing(error)) return 0;
      throw error;
    }
  }

  async read(run: number, attempt: number, offset: number, maxBytes: number): Promise<Buffer> {
    try {
      const handle = await open(this.#path(run, attempt), 'r');
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

  #path(run: number, attempt: number): string {
    const folder = String(Math.floor(Number(number(run)) / RUNS_A_FOLDER));
    return path.join(this.#root, folder, `${run}-${number(attempt)}.log`);
  }

  #file(name: string): AppendFile {
    const known = this.#files.get(name);
    if (known) return known;
    const folder = this.#folderOf(path.dirname(name));
    const file: AppendFile = new AppendFile(name, folder, this.#idleMs, () => this.#files.delete(name));
    this.#files.set(name, file);
    return file;
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
