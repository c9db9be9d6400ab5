const MASK = Buffer.from('***');

/** Shorter values and lines are not masked: they would blot out ordinary text and give themselves away by it. */
export const SHORTEST_SECRET = 4;

/** What is to be masked: each value without line breaks at its ends, and where it has several lines each line. */
export function secretPatterns(values: readonly string[]): Buffer[] {
  const lines = values.flatMap((value) => value.split(/\r\n|\r|\n/)).map((line) => line.trim());
  const patterns = new Set(lines.filter((line) => Buffer.byteLength(line) >= SHORTEST_SECRET));
  return [...patterns].map((line) => Buffer.from(line));
}

/**
 * Finds any of many byte patterns in one pass, by the shift table of Wu and Manber ("A fast algorithm
 * for multi-pattern searching", 1994) over blocks of two bytes: the last block of a window of the
 * shortest pattern's length says how far the window can move without passing a match.
 */
export class PatternSet {
  readonly longest: number;
  readonly #window: number;
  readonly #shift: Uint16Array;
  /** Patterns by the last block of their window, longest first. */
  readonly #byBlock = new Map<number, Buffer[]>();
  readonly #patterns: readonly Buffer[];
  readonly #starts = new Uint8Array(256);

  constructor(patterns: readonly Buffer[]) {
    this.#patterns = patterns.toSorted((a, b) => b.length - a.length);
    this.longest = this.#patterns[0]?.length ?? 0;
    this.#window = Math.min(0xffff, this.#patterns.at(-1)?.length ?? 0);
    this.#shift = new Uint16Array(this.longest > 0 ? 65_536 : 0).fill(Math.max(1, this.#window - 1));
    for (const pattern of this.#patterns) this.#add(pattern);
  }

  #add(pattern: Buffer): void {
    this.#starts[pattern[0] ?? 0] = 1;
    for (let end = 1; end < this.#window; end++) {
      const block = blockAt(pattern, end);
      this.#shift[block] = Math.min(this.#shift[block] ?? 0, this.#window - 1 - end);
    }
    const last = blockAt(pattern, this.#window - 1);
    this.#byBlock.set(last, [...(this.#byBlock.get(last) ?? []), pattern]);
  }

  /** The first match at or after `from`; the longest of those that begin there. */
  find(text: Buffer, from: number): { at: number; length: number } | null {
    for (let end = from + this.#window - 1; end < text.length; ) {
      const block = blockAt(text, end);
      const shift = this.#shift[block] ?? 1;
      if (shift > 0) {
        end += shift;
        continue;
      }
      const at = end - this.#window + 1;
      for (const pattern of this.#byBlock.get(block) ?? []) {
        if (startsWith(text, at, pattern)) return { at, length: pattern.length };
      }
      end++;
    }
    return null;
  }

  /** Where the longest end of `text` begins that may be the beginning of a pattern; its length if none. */
  openEnd(text: Buffer, from: number): number {
    for (let at = Math.max(from, text.length - this.longest + 1); at < text.length; at++) {
      if (this.#starts[text[at] ?? 0] !== 1) continue;
      const rest = text.length - at;
      for (const pattern of this.#patterns) {
        if (pattern.length <= rest) break;
        if (pattern.compare(text, at, text.length, 0, rest) === 0) return at;
      }
    }
    return text.length;
  }
}

function blockAt(text: Buffer, end: number): number {
  return ((text[end - 1] ?? 0) << 8) | (text[end] ?? 0);
}

function startsWith(text: Buffer, at: number, pattern: Buffer): boolean {
  return at + pattern.length <= text.length && pattern.compare(text, at, at + pattern.length) === 0;
}

/**
 * Replaces secrets in a stream of bytes, however they are split over reads. What may be the beginning
 * of a secret is held back until the next bytes tell, so everything else is passed on at once.
 */
export class Masker {
  readonly #patterns: PatternSet;
  #held = Buffer.alloc(0);
  /** Bytes at the front of what is held that a secret before has masked already. */
  #covered = 0;

  constructor(patterns: PatternSet) {
    this.#patterns = patterns;
  }

  push(bytes: Buffer): Buffer {
    if (this.#patterns.longest === 0) return bytes;
    const text = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes;
    return this.#mask(text, false);
  }

  /** The stream has ended: what was held back is only text. */
  end(): Buffer {
    return this.#mask(this.#held, true);
  }

  /**
   * Secrets that overlap are masked as one: the second must not be told by what the first left over.
   * So the search goes on inside a match, and an end that is held back may be masked already in part.
   */
  #mask(text: Buffer, ended: boolean): Buffer {
    const parts: Buffer[] = [];
    const open = ended ? text.length : this.#patterns.openEnd(text, 0);
    let told = this.#covered;
    for (let from = 0; ; ) {
      const match = this.#patterns.find(text, from);
      // One that is not all here yet may begin before this one, or with it and be longer.
      if (!match || match.at >= open) break;
      if (match.at >= told) parts.push(text.subarray(told, match.at), MASK);
      told = Math.max(told, match.at + match.length);
      from = match.at + 1;
    }
    if (open > told) parts.push(text.subarray(told, open));
    this.#covered = Math.max(0, told - open);
    // Copied: the reader's buffer is used again.
    this.#held = Buffer.from(text.subarray(open));
    return parts.length === 1 ? (parts[0] ?? text) : Buffer.concat(parts);
  }
}
