import { ftruncateSync, writeSync } from 'node:fs';

/** What is kept of the end of a log that is over its limit; half of a limit that is less than twice this. */
const TAIL_BYTES = 4 * 1024 * 1024;
const BLOCK_BYTES = 256 * 1024;
/** Enough for a run that says little; every run that needs more gets the whole block at once. */
const FIRST_BLOCK_BYTES = 8 * 1024;

/**
 * The spool file of one run: records collected in one block and appended when it is full or flushed.
 * Writing is synchronous, which blocks only this run's own thread, and so nothing is ever queued in
 * memory. Past the limit the middle is dropped: the first part is in the file, the last 4 MiB are kept
 * in a ring and written at the end, with a record that says how much is missing.
 */
export class Spool {
  readonly #fd: number;
  readonly #headBytes: number;
  readonly #tailBytes: number;
  readonly #onWritten: (bytes: number) => void;
  readonly #onFailure: (error: NodeJS.ErrnoException) => void;
  #block = Buffer.allocUnsafe(FIRST_BLOCK_BYTES);
  #used = 0;
  #written = 0;
  #ring: Buffer | null = null;
  /** Bytes that went into the ring. */
  #ringed = 0;
  #failure: NodeJS.ErrnoException | null = null;
  #open = true;

  /**
   * `fd` is open for appending and its opener's to close, after `close`. `onFailure` is called once, at
   * the first write that fails; what comes after it is discarded.
   */
  constructor(
    fd: number,
    limitBytes: number,
    onWritten: (bytes: number) => void,
    onFailure: (error: NodeJS.ErrnoException) => void = () => {},
  ) {
    this.#onFailure = onFailure;
    this.#fd = fd;
    this.#tailBytes = Math.max(1, Math.min(TAIL_BYTES, Math.floor(limitBytes / 2)));
    this.#headBytes = limitBytes - this.#tailBytes;
    this.#onWritten = onWritten;
  }

  /** The block that the next record goes into, with at least `bytes` free, and where. Then `commit`. */
  room(bytes: number): { block: Buffer; at: number } {
    if (this.#block.length - this.#used < bytes) {
      this.flush();
      // Memory that a process has written to is what each of its spawns pays for, so little is taken.
      if (this.#block.length < BLOCK_BYTES) this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
    }
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
    if (this.#ring) return this.#keepInRing(bytes);
    const left = this.#headBytes - this.#written;
    if (bytes.length <= left) return this.#write(bytes);
    // The head ends with the last whole record that fits.
    const cut = left > 0 ? bytes.lastIndexOf(10, left - 1) + 1 : 0;
    this.#write(bytes.subarray(0, cut));
    this.#keepInRing(bytes.subarray(cut));
  }

  /** `missing` makes the record that stands for the dropped middle. Returns the file's length. */
  close(missing: (bytes: number) => string): number {
    if (!this.#open) return this.#written;
    this.flush();
    if (this.#ring) this.#writeTail(this.#ring, missing);
    this.#open = false;
    return this.#written;
  }

  #write(bytes: Buffer): void {
    if (this.#failure || bytes.length === 0) return;
    let done = 0;
    try {
      // A full disk shows first as a short write, then as ENOSPC.
      while (done < bytes.length) done += writeSync(this.#fd, bytes, done, bytes.length - done);
    } catch (error) {
      this.#failure = error as NodeJS.ErrnoException;
      // What is there ends with a whole record.
      done = done > 0 ? bytes.lastIndexOf(10, done - 1) + 1 : 0;
      try {
        ftruncateSync(this.#fd, this.#written + done);
      } catch {
        // the length that is told counts, not the file's
      }
      this.#onFailure(this.#failure);
    }
    this.#written += done;
    this.#onWritten(this.#written);
  }

  #keepInRing(bytes: Buffer): void {
    const size = this.#tailBytes;
    this.#ring ??= Buffer.allocUnsafe(size);
    const skipped = Math.max(0, bytes.length - size);
    this.#ringed += skipped;
    const at = this.#ringed % size;
    const first = bytes.copy(this.#ring, at, skipped, skipped + Math.min(bytes.length - skipped, size - at));
    if (skipped + first < bytes.length) bytes.copy(this.#ring, 0, skipped + first);
    this.#ringed += bytes.length - skipped;
  }

  #writeTail(ring: Buffer, missing: (bytes: number) => string): void {
    const at = this.#ringed % this.#tailBytes;
    const whole = this.#ringed <= this.#tailBytes;
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
