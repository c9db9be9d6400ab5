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

/** What the file begins with where that was kept elsewhere until now. */
export interface Beginning {
  /** Null where there is none, or none any more. */
  bytes(): Uint8Array | null;
  /** The file has this much of it, durable: there it is forgotten, or false where it has grown meanwhile. */
  moved(length: number): Promise<boolean>;
}

export interface AppendFileOptions {
  readonly folder: FileFolder;
  readonly beginning?: Beginning;
  readonly idleMs: number;
  readonly onIdle: () => void;
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
  readonly #options: AppendFileOptions;
  #open: OpenFile | null = null;
  #tail: Promise<unknown> = Promise.resolve();
  #users = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(file: string, options: AppendFileOptions) {
    this.#path = file;
    this.#options = options;
  }

  /** Writes nothing where `offset` is not the file's length. Resolves with the durable length. */
  append(offset: number, bytes: Uint8Array): Promise<number> {
    return this.#inTurn(async () => {
      const file = await this.#opened();
      if (offset !== file.length || bytes.length === 0) return file.length;
      try {
        await writeAll(file.handle, bytes, offset);
        // At once: the disk's journal writes both together.
        await Promise.all([file.handle.datasync(), file.kept ? null : this.#options.folder.sync()]);
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
    if (!this.#open) return this.#options.onIdle();
    this.#timer = setTimeout(() => void this.close().catch(() => {}), this.#options.idleMs);
    this.#timer.unref();
  }

  async #opened(): Promise<OpenFile> {
    this.#open ??= (await this.#begun()) ?? (await this.#made()) ?? (await this.#found());
    return this.#open;
  }

  /** Null where it begins with nothing. A copy that was not finished is made anew. */
  async #begun(): Promise<OpenFile | null> {
    const { beginning, folder } = this.#options;
    if (!beginning) return null;
    for (let bytes = beginning.bytes(); bytes; bytes = beginning.bytes()) {
      const handle = await this.#create('w+');
      try {
        await writeAll(handle, bytes, 0);
        await Promise.all([handle.datasync(), folder.sync()]);
        if (await beginning.moved(bytes.length)) return { handle, length: bytes.length, kept: true };
      } catch (error) {
        await handle.close();
        throw error;
      }
      await handle.close();
    }
    return null;
  }

  /** Null where the file is there already. */
  async #made(): Promise<OpenFile | null> {
    try {
      return { handle: await this.#create('wx+'), length: 0, kept: false };
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return null;
      throw error;
    }
  }

  async #create(flags: 'w+' | 'wx+'): Promise<FileHandle> {
    const { folder } = this.#options;
    await folder.make();
    return await open(this.#path, flags, 0o600).catch(async (error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      await folder.remake();
      return await open(this.#path, flags, 0o600);
    });
  }

  /** What an earlier process left may not be on disk yet, though its length is about to be told. */
  async #found(): Promise<OpenFile> {
    const handle = await open(this.#path, 'r+');
    try {
      await Promise.all([handle.datasync(), this.#options.folder.sync()]);
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
