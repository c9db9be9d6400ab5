import { closeSync, constants, fstatSync, ftruncateSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { openRegular, standingAs } from '../../shared/open-regular.ts';

const readAsync = promisify(read);

/** What was just written is in memory: up to this, reading it costs less than to have another thread do it. */
const AT_ONCE_BYTES = 16 * 1024;

/**
 * A run's spool as the main thread reads it: one descriptor from before the first step to after the
 * last byte, since the steps may remove, replace or shorten what stands at its path.
 */
export class SpoolReader {
  readonly #fd: number;
  #reading = 0;
  #closed = false;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Makes the file, for the worker to append to. Throws where there is one. */
  static make(file: string): SpoolReader {
    return new SpoolReader(
      openRegular(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL),
    );
  }

  /** What a dead runner left; null where it is not there or is no file. */
  static left(file: string): SpoolReader | null {
    try {
      return new SpoolReader(openRegular(file));
    } catch {
      return null;
    }
  }

  /** For the worker to append by: good until `close`. */
  get fd(): number {
    return this.#fd;
  }

  /** For another run: call when nobody reads or appends. */
  clear(): void {
    ftruncateSync(this.#fd, 0);
  }

  /** As `standingAs`; null while it is read, and once it is closed. */
  standingAs(file: string): string | null {
    return this.#closed || this.#reading > 0 ? null : standingAs(this.#fd, file);
  }

  /** Bytes that are there now. */
  get size(): number {
    return this.#closed ? 0 : fstatSync(this.#fd).size;
  }

  /** Fills the buffer from `offset` as far as the file goes; gives how much that is, 0 after `close`. */
  async read(buffer: Buffer, offset: number): Promise<number> {
    if (this.#closed) return 0;
    if (buffer.length <= AT_ONCE_BYTES) return readSync(this.#fd, buffer, 0, buffer.length, offset);
    this.#reading++;
    try {
      return (await readAsync(this.#fd, buffer, 0, buffer.length, offset)).bytesRead;
    } finally {
      this.#reading--;
      if (this.#closed) this.#closeUnread();
    }
  }

  /** Idempotent. A read under way ends first: the number must not be another file's by then. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#closeUnread();
  }

  #closeUnread(): void {
    if (this.#reading === 0) closeSync(this.#fd);
  }
}
