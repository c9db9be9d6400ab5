import { type FileHandle, mkdir, open } from 'node:fs/promises';
import path from 'node:path';

/**
 * One file that only grows. Appends come one after another; the length that is told is durable. The
 * descriptor is open while it is used and for `idleMs` after.
 */
export class AppendFile {
  readonly #path: string;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #open: { readonly handle: FileHandle; length: number } | null = null;
  #tail: Promise<unknown> = Promise.resolve();
  #users = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(file: string, idleMs: number, onIdle: () => void) {
    this.#path = file;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
  }

  /** Writes nothing where `offset` is not the file's length. Resolves with the durable length. */
  append(offset: number, bytes: Uint8Array): Promise<number> {
    return this.#inTurn(async () => {
      const file = await this.#opened();
      if (offset !== file.length || bytes.length === 0) return file.length;
      try {
        await writeAll(file.handle, bytes, offset);
        await file.handle.datasync();
      } catch (error) {
        // What was written in part is no longer known to be durable: the runner sends it again.
        await file.handle.truncate(file.length).catch(() => {});
        await this.#close();
        throw error;
      }
      file.length += bytes.length;
      return file.length;
    });
  }

  /** Runs `action` after all appends before it, with the file closed. */
  settle<T>(action: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      await this.#close();
      return await action();
    });
  }

  close(): Promise<void> {
    return this.settle(async () => {});
  }

  async #inTurn<T>(action: () => Promise<T>): Promise<T> {
    this.#users++;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const turn = this.#tail.then(action);
    this.#tail = turn.catch(() => {});
    try {
      return await turn;
    } finally {
      if (--this.#users === 0) this.#becomeIdle();
    }
  }

  #becomeIdle(): void {
    if (!this.#open) return this.#onIdle();
    this.#timer = setTimeout(() => void this.close().catch(() => {}), this.#idleMs);
    this.#timer.unref();
  }

  /** What an earlier process left may not be on disk yet, though its length is about to be told. */
  async #opened(): Promise<{ readonly handle: FileHandle; length: number }> {
    if (this.#open) return this.#open;
    await mkdir(path.dirname(this.#path), { recursive: true, mode: 0o700 });
    const handle = await open(this.#path, 'r+').catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      const made = await open(this.#path, 'wx+', 0o600);
      // A file is there after a power cut once its folders are on disk: the run's and the one above.
      const folder = path.dirname(this.#path);
      await syncFolder(folder);
      await syncFolder(path.dirname(folder));
      return made;
    });
    try {
      await handle.datasync();
      this.#open = { handle, length: (await handle.stat()).size };
      return this.#open;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #close(): Promise<void> {
    const file = this.#open;
    this.#open = null;
    await file?.handle.close();
  }
}

/** What was made or renamed in a folder is on disk when the folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A write may come up short, on a disk that is nearly full for one. */
async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    if (bytesWritten === 0) throw new Error('the file system took no bytes');
    done += bytesWritten;
  }
}
