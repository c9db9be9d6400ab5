import { closeSync, openSync, writeSync } from 'node:fs';

/** What is kept of the end of a log that is over its limit. */
const TAIL_BYTES = 4 * 1024 * 1024;
const BLOCK_BYTES = 256 * 1024;

/**
 * The spool file of one run: records collected in one block and appended when it is full or flushed.
 * Writing is synchronous, which blocks only this run's own thread, and so nothing is ever queued in
 * memory. Past the limit the middle is dropped: the first part is in the file, the last 4 MiB are kept
 * in a ring and written at the end, with a record that says how much is missing.
 */
export class Spool {
  readonly #fd: number;
  readonly #headBytes: number;
  readonly #onWritten: (bytes: number) => void;
  readonly #block = Buffer.allocUnsafe(BLOCK_BYTES);
  #used = 0;
  #written = 0;
  #ring: Buffer | null = null;
  /** Bytes that went into the ring. */
  #ringed = 0;
  #failure: NodeJS.ErrnoException | null = null;
  #open = true;

  constructor(file: string, limitBytes: number, onWritten: (bytes: number) => void) {
    this.#fd = openSync(file, 'ax', 0o600);
    this.#headBytes = Math.max(0, limitBytes - TAIL_BYTES);
    this.#onWritten = onWritten;
  }

  /** The block that the next record goes into, with at least `bytes` free, and where. Then `commit`. */
  room(bytes: number): { block: Buffer; at: number } {
    if (BLOCK_BYTES - this.#used < bytes) this.flush();
    return { block: this.#block, at: this.#used };
  }

  commit(bytes: number): void {
    this.#used += bytes;
  }

  /** Why it could not be written, once and for all: a full disk mostly. */
  get failure(): NodeJS.ErrnoException | null {
    return this.#failure;
  }

  get length(): number {
    return this.#written;
  }

  flush(): void {
    const bytes = this.#block.subarray(0, this.#used);
    this.#used = 0;
    if (bytes.length === 0) return;
    if (this.#ring || this.#written + bytes.length > this.#headBytes) this.#keepInRing(bytes);
    else this.#write(bytes);
  }

  /** `missing` makes the record that stands for the dropped middle. Returns the file's length. */
  close(missing: (bytes: number) => string): number {
    if (!this.#open) return this.#written;
    this.flush();
    if (this.#ring) this.#writeTail(this.#ring, missing);
    this.#open = false;
    closeSync(this.#fd);
    return this.#written;
  }

  #write(bytes: Buffer): void {
    if (this.#failure) return;
    try {
      for (let done = 0; done < bytes.length; ) {
        // A full disk shows first as a short write, then as ENOSPC.
        const wrote = writeSync(this.#fd, bytes, done, bytes.length - done);
        done += wrote;
        this.#written += wrote;
      }
    } catch (error) {
      this.#failure = error as NodeJS.ErrnoException;
    }
    this.#onWritten(this.#written);
  }

  #keepInRing(bytes: Buffer): void {
    this.#ring ??= Buffer.allocUnsafe(TAIL_BYTES);
    const at = this.#ringed % TAIL_BYTES;
    const first = bytes.copy(this.#ring, at, 0, Math.min(bytes.length, TAIL_BYTES - at));
    if (first < bytes.length) bytes.copy(this.#ring, 0, first);
    this.#ringed += bytes.length;
  }

  #writeTail(ring: Buffer, missing: (bytes: number) => string): void {
    const at = this.#ringed % TAIL_BYTES;
    const whole = this.#ringed <= TAIL_BYTES;
    const kept = whole
      ? ring.subarray(0, this.#ringed)
      : Buffer.concat([ring.subarray(at), ring.subarray(0, at)]);
    // The ring begins within a record: that one goes too.
    const start = whole ? 0 : kept.indexOf(10) + 1;
    const dropped = this.#ringed - (kept.length - start);
    if (dropped > 0) this.#write(Buffer.from(missing(dropped)));
    this.#write(kept.subarray(start));
  }
}
