import { Decoder, encodeLine } from '../../shared/protocol/codec.ts';
import {
  type RunnerMessage,
  runnerMessageSchema,
  type ServerMessage,
} from '../../shared/protocol/messages.ts';
import type { Answer } from './runner-session.ts';

/** Where a conversation's bytes go, and how it holds its peer back. */
export interface Wire {
  /** Resolves when more may be written, or the connection is gone. */
  write(bytes: Buffer): Promise<void>;
  pause(): void;
  resume(): void;
  /** Ends the connection after what was written. */
  end(): void;
}

export interface ConversationParts {
  readonly wire: Wire;
  readonly limits: { readonly lineBytes: number; readonly frameBytes: number; readonly stallMs: number };
  /** A message where the peer is of another version; see `foreign-hello.ts`. */
  readonly recover?: (value: unknown) => RunnerMessage | null;
  readonly answer: (message: RunnerMessage, bytes: Buffer) => Promise<Answer>;
  /** `bye` came while a lease waits. */
  readonly withdraw: () => void;
  /** The peer broke a rule, or answering threw. */
  readonly onFault: (why: string, error: unknown) => void;
}

/** What is read ahead of the answers; past either the peer is held back. */
const AHEAD_BYTES = 512 * 1024;
const AHEAD_MESSAGES = 64;

interface Waiting {
  readonly message: RunnerMessage;
  readonly bytes: Buffer;
}

/**
 * Messages in, replies out, in order and one at a time; but a lease that has come with a record is worked on
 * together with it, so that one commit of the store holds both.
 */
export class Conversation {
  readonly #parts: ConversationParts;
  readonly #decoder: Decoder<RunnerMessage>;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #answering: readonly RunnerMessage['type'][] = [];
  #running: Promise<void> = Promise.resolve();
  #ended = false;
  #stall: NodeJS.Timeout | null = null;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#decoder = new Decoder(runnerMessageSchema, parts.limits, parts.recover);
  }

  receive(chunk: Buffer): void {
    if (this.#ended) return;
    this.#clearStall();
    for (const decoded of this.#decoder.push(chunk)) {
      if (!decoded.ok) return this.fail(decoded.fault.why);
      const { message, bytes } = decoded;
      const outstanding = this.#outstanding();
      if (!mayArrive(outstanding, message.type))
        return this.fail(`'${message.type}' came while '${outstanding.at(-1)}' was not answered`);
      if (message.type === 'bye' && this.#answering.includes('lease')) this.#parts.withdraw();
      this.#waiting.push({ message, bytes });
      this.#waitingBytes += bytes.length;
    }
    if (this.#isAhead()) this.#parts.wire.pause();
    else this.#watchStall();
    if (this.#answering.length === 0 && this.#waiting.length > 0) this.#running = this.#run();
  }

  /** Tells the peer why, and ends. What was not answered yet stays unanswered. */
  fail(why: string, error: unknown = null): void {
    if (this.#ended) return;
    this.#parts.onFault(why, error);
    void this.#send({ type: 'error', why: why.slice(0, 1000) });
    this.#end();
  }

  /** The peer sends nothing more: what it has said is answered, then the connection ends. */
  async finish(): Promise<void> {
    if (this.#decoder.isMidway) return this.fail('the channel ended in the middle of a message');
    await this.#running;
    if (!this.#ended) this.#end();
  }

  /** Takes and sends nothing more; resolves when nothing is being answered. */
  async stop(): Promise<void> {
    this.#cease();
    await this.#running;
  }

  /** Resolves when everything that came has been answered. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let next = this.#take(); next.length > 0 && !this.#ended; next = this.#take()) {
      this.#answering = next.map(({ message }) => message.type);
      if (!this.#isAhead()) this.#parts.wire.resume();
      const begun = next.map(({ message, bytes }) => {
        const answer = this.#parts.answer(message, bytes);
        answer.catch(() => {}); // told in its turn
        return { message, answer };
      });
      for (const { message, answer } of begun) {
        await this.#reply(message, answer);
        this.#answering = this.#answering.slice(1);
      }
    }
    this.#answering = [];
  }

  /** The next message, and a lease right behind a record with it. */
  #take(): Waiting[] {
    const [first, second] = this.#waiting;
    const both = first?.message.type === 'record' && second?.message.type === 'lease';
    const taken = this.#waiting.splice(0, both ? 2 : 1);
    for (const { bytes } of taken) this.#waitingBytes -= bytes.length;
    return taken;
  }

  /** Where the conversation has ended meanwhile, the answer is waited for all the same. */
  async #reply(message: RunnerMessage, answer: Promise<Answer>): Promise<void> {
    try {
      const { reply, end } = await answer;
      if (this.#ended) return;
      await this.#send(reply);
      if (end || reply.type === 'error') this.#end();
    } catch (error) {
      this.fail(`the server could not answer '${message.type}'`, error);
    }
  }

  #outstanding(): RunnerMessage['type'][] {
    return [...this.#answering, ...this.#waiting.map(({ message }) => message.type)];
  }

  #isAhead(): boolean {
    return this.#waitingBytes > AHEAD_BYTES || this.#waiting.length > AHEAD_MESSAGES;
  }

  #send(message: ServerMessage): Promise<void> {
    return this.#parts.wire.write(encodeLine(message));
  }

  #end(): void {
    this.#cease();
    this.#parts.wire.end();
  }

  #cease(): void {
    this.#ended = true;
    this.#waiting.length = 0;
    this.#clearStall();
  }

  /** Only while we read: a peer that is held back cannot send the rest. */
  #watchStall(): void {
    if (!this.#decoder.isMidway) return;
    this.#stall = setTimeout(
      () => this.fail('the rest of a message did not come'),
      this.#parts.limits.stallMs,
    );
  }

  #clearStall(): void {
    if (this.#stall) clearTimeout(this.#stall);
    this.#stall = null;
  }
}

type Type = RunnerMessage['type'];

/** `hello`, `lease` and `record` are outstanding alone; only `bye` may follow them, and a lease a record. */
export function mayArrive(outstanding: readonly Type[], next: Type): boolean {
  const alone = (type: Type) => type === 'hello' || type === 'lease' || type === 'record';
  if (outstanding.length === 0 || next === 'bye') return true;
  if (next === 'lease') return outstanding.length === 1 && outstanding[0] === 'record';
  return !alone(next) && !outstanding.some(alone);
}
