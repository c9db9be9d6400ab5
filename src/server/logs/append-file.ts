import { type FileHandle, open } from 'node:fs/promises';

/** Where an append-only file stands. */
export interface FileFolder {
  /** Makes it where it is not there. */
  make(): Promise<void>;
  /** The same, where somebody has removed it since. */
  remake(): Promise<void>;
  /** What was made in it is on disk after this. */
  sync(): Promise<void>;
}

interface OpenFile {
  readonly handle: FileHandle;
  length: number;
  /** The file is there after a power cut. */
  kept: boolean;
}

/**
 * One file that only grows. Appends come one after another; the length that is told is durable. The
 * descriptor is open while it is used and for `idleMs` after.
 */
export class AppendFile {
  readonly #path: string;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  readonly #folder: FileFolder;
  #open: OpenFile | null = null;
  #tail: Promise<unknown> = Promise.resolve();
  #users = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(file: string, folder: FileFolder, idleMs: number, onIdle: () => void) {
    this.#path = file;
    this.#folder = folder;
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
        // At once: the disk's journal writes both together.
        await Promise.all([file.handle.datasync(), file.kept ? null : this.#folder.sync()]);
        file.kept = true;
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

  async #opened(): Promise<OpenFile> {
    this.#open ??= (await this.#made()) ?? (await this.#found());
    return this.#open;
  }

  /** Null where the file is there already. */
  async #made(): Promise<OpenFile | null> {
    await this.#folder.make();
    const make = async (): Promise<OpenFile> => {
      return { handle: await open(this.#path, 'wx+', 0o600), length: 0, kept: false };
    };
    try {
      return await make().catch(async (error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
        await this.#folder.remake();
        return await make();
      });
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return null;
      throw error;
    }
  }

  /** What an earlier process left may not be on disk yet, though its length is about to be told. */
  async #found(): Promise<OpenFile> {
    const handle = await open(this.#path, 'r+');
    try {
      await Promise.all([handle.datasync(), this.#folder.sync()]);
      return { handle, length: (await handle.stat()).size, kept: true };
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

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
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
