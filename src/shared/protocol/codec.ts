import type { z } from 'zod';
import { oneLine } from '../errors.ts';

/**
 * What ends a stream of messages.
 *
 * - `line-too-long`: more than `lineBytes` without a newline; `not-json`: a line that is no JSON
 * - `bad-message`: JSON that is no message of this side; `frame-too-large`: `bytes` over `frameBytes`
 */
export interface DecodeFault {
  readonly reason: 'line-too-long' | 'not-json' | 'bad-message' | 'frame-too-large';
  readonly why: string;
}

export type Decoded<M> =
  | { readonly ok: true; readonly message: M; readonly bytes: Buffer }
  | { readonly ok: false; readonly fault: DecodeFault };

export interface DecodeLimits {
  readonly lineBytes: number;
  readonly frameBytes: number;
}

const NEWLINE = 0x0a;
const NONE = Buffer.alloc(0);

/**
 * Cuts a stream of bytes into messages: a JSON line, and after one with `bytes: n` that many raw
 * bytes. Holds at most one line or one frame. After the first fault it takes nothing more, since
 * nobody knows where the next message would begin.
 */
export class Decoder<M> {
  readonly #schema: z.ZodType<M>;
  readonly #limits: DecodeLimits;
  readonly #recover: (value: unknown) => M | null;
  /** One block that grows, since a peer that sends single bytes would cost a hundred times as much in parts. */
  #block: Buffer = NONE;
  #held = 0;
  /** The message whose raw bytes are on their way. */
  #waiting: { readonly message: M; readonly bytes: number } | null = null;
  #broken = false;

  /** `recover` may make a message of what the schema does not know. */
  constructor(
    schema: z.ZodType<M>,
    limits: DecodeLimits,
    recover: (value: unknown) => M | null = () => null,
  ) {
    this.#schema = schema;
    this.#limits = limits;
    this.#recover = recover;
  }

  /** Bytes kept for a message that is not complete. */
  get heldBytes(): number {
    return this.#held;
  }

  /** Whether the stream stands in the middle of a message. */
  get isMidway(): boolean {
    return this.#held > 0 || this.#waiting !== null;
  }

  push(chunk: Buffer): Decoded<M>[] {
    const out: Decoded<M>[] = [];
    let at = 0;
    while (!this.#broken && at < chunk.length) {
      const rest = at === 0 ? chunk : chunk.subarray(at);
      const step = this.#waiting ? this.#takeFrame(rest, this.#waiting) : this.#takeLine(rest);
      at += step.used;
      if (!step.done) continue;
      out.push(step.done);
      if (!step.done.ok) this.#break();
    }
    return out;
  }

  #takeFrame(rest: Buffer, waiting: { message: M; bytes: number }): Step<M> {
    const used = Math.min(rest.length, waiting.bytes - this.#held);
    this.#hold(rest.subarray(0, used), waiting.bytes);
    if (this.#held < waiting.bytes) return { used, done: null };
    this.#waiting = null;
    return { used, done: { ok: true, message: waiting.message, bytes: this.#release() } };
  }

  #takeLine(rest: Buffer): Step<M> {
    const { lineBytes } = this.#limits;
    const newline = rest.indexOf(NEWLINE);
    const length = newline < 0 ? rest.length : newline;
    if (this.#held + length > lineBytes)
      return fail('line-too-long', `a line is longer than ${lineBytes} bytes`);
    if (newline >= 0 && this.#held === 0) return this.#parse(rest.subarray(0, length), length + 1);
    this.#hold(rest.subarray(0, length), 0);
    if (newline < 0) return { used: length, done: null };
    return this.#parse(this.#release(), length + 1);
  }

  #parse(line: Buffer, used: number): Step<M> {
    let value: unknown;
    try {
      value = JSON.parse(line.toString('utf8'));
    } catch {
      return fail('not-json', 'a line is no JSON');
    }
    const bytes = rawBytes(value);
    if (bytes === null) return fail('bad-message', "a message is not understood at 'bytes'");
    if (bytes > this.#limits.frameBytes)
      return fail('frame-too-large', `a frame has ${bytes} bytes, more than ${this.#limits.frameBytes}`);
    const parsed = this.#schema.safeParse(value);
    const message = parsed.success ? parsed.data : this.#recover(value);
    if (message === null)
      return fail('bad-message', parsed.success ? 'a message is null' : describe(parsed.error));
    if (bytes === 0) return { used, done: { ok: true, message, bytes: NONE } };
    this.#waiting = { message, bytes };
    return { used, done: null };
  }

  #hold(part: Buffer, expected: number): void {
    const held = this.#held + part.length;
    if (held > this.#block.length) {
      const block = Buffer.allocUnsafe(Math.max(held, expected, 2 * this.#block.length));
      this.#block.copy(block, 0, 0, this.#held);
      this.#block = block;
    }
    part.copy(this.#block, this.#held);
    this.#held = held;
  }

  #release(): Buffer {
    const whole = this.#block.subarray(0, this.#held);
    this.#block = NONE;
    this.#held = 0;
    return whole;
  }

  #break(): void {
    this.#broken = true;
    this.#waiting = null;
    this.#release();
  }
}

interface Step<M> {
  readonly used: number;
  readonly done: Decoded<M> | null;
}

function fail(reason: DecodeFault['reason'], why: string): Step<never> {
  return { used: 0, done: { ok: false, fault: { reason, why } } };
}

/** Null where it is no number of bytes. */
function rawBytes(value: unknown): number | null {
  if (typeof value !== 'object' || value === null || !('bytes' in value)) return 0;
  const { bytes } = value;
  return typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null;
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  const where = issue?.path.join('.') ?? '';
  return oneLine(`a message is not understood${where ? ` at '${where}'` : ''}: ${issue?.message ?? ''}`);
}

/** One message's line; its raw bytes, if any, are written after it. */
export function encodeLine(message: { readonly type: string }): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`);
}
