import { isUtf8 } from 'node:buffer';
import { Masker, type PatternSet } from './masker.ts';
import type { Spool } from './spool.ts';

/** Longest text of one record; a longer line is continued in the next. */
export const RECORD_BYTES = 64 * 1024;
/** Stamp, step and letter in front of a record take less than this. */
const PREFIX_BYTES = 64;
/** Up to here a byte loop beats the calls of indexOf and copy. */
const SHORT_LINE = 24;

export interface Stamp {
  /** Milliseconds since the run's start, now. */
  (): number;
}

/**
 * One output stream of one step on its way into the spool: secrets masked, cut into lines, each line a
 * record. Bytes that are no UTF-8 become U+FFFD, decided by whole lines, so a character that is split
 * over reads is one.
 */
export class StreamLog {
  readonly #spool: Spool;
  readonly #masker: Masker;
  readonly #stamp: Stamp;
  readonly #tail: string;
  readonly #continuedTail: string;
  /** The line that has no newline yet; most steps never need one. */
  #partial: Buffer | null = null;
  #partialUsed = 0;
  #last = '';

  constructor(spool: Spool, patterns: PatternSet, stamp: Stamp, step: number, letter: 'o' | 'e') {
    this.#spool = spool;
    this.#masker = new Masker(patterns);
    this.#stamp = stamp;
    this.#tail = ` ${step} ${letter} `;
    this.#continuedTail = ` ${step} ${letter.toUpperCase()} `;
  }

  /** The last whole line that was written, at most 300 characters: errors are told by it. */
  get lastLine(): string {
    return this.#last;
  }

  push(bytes: Buffer): void {
    this.#lines(this.#masker.push(bytes));
  }

  /** The stream has ended: a last line without newline is kept. */
  end(): void {
    this.#lines(this.#masker.end());
    if (this.#partialUsed > 0) this.#record(this.#takePartial(), false);
  }

  #lines(bytes: Buffer): void {
    const prefix = Buffer.from(`${this.#stamp()}${this.#tail}`, 'latin1');
    const end = bytes.lastIndexOf(10) + 1;
    let from = 0;
    if (end > 0 && this.#partialUsed > 0) {
      from = bytes.indexOf(10) + 1;
      this.#append(bytes.subarray(0, from - 1));
      this.#record(this.#takePartial(), false);
    }
    if (from < end) this.#wholeLines(bytes.subarray(from, end), prefix);
    this.#append(bytes.subarray(end));
  }

  /** `bytes` ends with a newline and begins with a line. */
  #wholeLines(bytes: Buffer, prefix: Buffer): void {
    const plain = isUtf8(bytes);
    let last = 0;
    for (let from = 0; from < bytes.length; ) {
      const end = endOfLine(bytes, from);
      last = from;
      if (plain && end - from <= RECORD_BYTES) this.#copy(bytes, from, end, prefix);
      else this.#long(bytes.subarray(from, end));
      from = end + 1;
    }
    this.#remember(bytes.subarray(last, bytes.length - 1));
  }

  /** The fast path: one record, straight from the read buffer into the block. */
  #copy(bytes: Buffer, from: number, end: number, prefix: Buffer): void {
    let stop = end;
    while (stop > from && bytes[stop - 1] === 13) stop--;
    const length = stop - from;
    const { block, at } = this.#spool.room(prefix.length + length + 1);
    let to = at;
    for (let i = 0; i < prefix.length; i++) block[to++] = prefix[i] ?? 0;
    if (length <= SHORT_LINE) for (let i = from; i < stop; i++) block[to++] = bytes[i] ?? 0;
    else to += bytes.copy(block, to, from, stop);
    block[to++] = 10;
    this.#spool.commit(to - at);
  }

  /** A line with bytes that are no UTF-8, or one that is too long. */
  #long(line: Buffer): void {
    let rest = line;
    while (rest.length > RECORD_BYTES) {
      const cut = boundary(rest, RECORD_BYTES);
      this.#record(rest.subarray(0, cut), true);
      rest = rest.subarray(cut);
    }
    this.#record(rest, false);
  }

  /** Holds the beginning of a line; what is over a record's length goes out as a continued one. */
  #append(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#partial ??= Buffer.allocUnsafe(RECORD_BYTES);
    const partial = this.#partial;
    let rest = bytes;
    while (this.#partialUsed + rest.length > RECORD_BYTES) {
      const fits = RECORD_BYTES - this.#partialUsed;
      rest.copy(partial, this.#partialUsed, 0, fits);
      const cut = boundary(partial.subarray(0, RECORD_BYTES), RECORD_BYTES);
      const over = Buffer.from(partial.subarray(cut, RECORD_BYTES));
      this.#record(partial.subarray(0, cut), true);
      over.copy(partial);
      this.#partialUsed = over.length;
      rest = rest.subarray(fits);
    }
    rest.copy(partial, this.#partialUsed);
    this.#partialUsed += rest.length;
  }

  #takePartial(): Buffer {
    const line = this.#partial?.subarray(0, this.#partialUsed) ?? Buffer.alloc(0);
    this.#partialUsed = 0;
    return line;
  }

  #record(raw: Buffer, continues: boolean): void {
    let stop = raw.length;
    if (!continues) while (stop > 0 && raw[stop - 1] === 13) stop--;
    const line = raw.subarray(0, stop);
    const text = isUtf8(line) ? line : Buffer.from(line.toString('utf8'));
    const { block, at } = this.#spool.room(PREFIX_BYTES + text.length + 1);
    let to =
      at + block.write(`${this.#stamp()}${continues ? this.#continuedTail : this.#tail}`, at, 'latin1');
    to += text.copy(block, to);
    block[to++] = 10;
    this.#spool.commit(to - at);
    this.#remember(line);
  }

  #remember(line: Buffer): void {
    if (line.length > 0) this.#last = line.toString('utf8', 0, Math.min(line.length, 300)).trim();
  }
}

function endOfLine(bytes: Buffer, from: number): number {
  const near = Math.min(bytes.length, from + SHORT_LINE);
  for (let i = from; i < near; i++) if (bytes[i] === 10) return i;
  return bytes.indexOf(10, near);
}

/** The largest cut at or before `most` that does not go through a UTF-8 character. */
function boundary(bytes: Buffer, most: number): number {
  let at = most;
  // A character has at most three continuation bytes, 10xxxxxx, after its first.
  for (let back = 0; back < 4 && at > 0; back++, at--) {
    const byte = bytes[at - 1] ?? 0;
    if (byte < 0x80) return most;
    if (byte >= 0xc0) {
      const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return back + 1 >= needs ? most : at - 1;
    }
  }
  return most;
}
