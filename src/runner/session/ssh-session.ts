import type { PublishRequest } from '../../shared/agent/result.ts';
import type { RunOutcome } from '../../shared/outcome.ts';
import { Decoder, encodeLine } from '../../shared/protocol/codec.ts';
import {
  LIMITS,
  type RunnerMessage,
  type ServerMessage,
  serverMessageSchema,
} from '../../shared/protocol/messages.ts';
import { type AnyReply, Requests } from './requests.ts';
import type {
  Disconnect,
  LeaseRequest,
  LogRest,
  RecordAndLease,
  Reply,
  RunRecord,
  SessionConnection,
  Welcome,
} from './session.ts';
import type { Transport } from './transport.ts';

type Type = ServerMessage['type'];
type ArtifactPart = Parameters<SessionConnection['artifact']>[2];

/** A reply that takes longer than this (beyond what a lease waits) will not come. */
const REPLY_MS = 60_000;
const BYE_MS = 2_000;
const CLOSE_MS = 1_000;

const NOTHING = new Uint8Array();
const CLOSED: Disconnect = { reason: 'closed', why: 'the session was closed' };

/** Requests out, replies in, over one transport. The welcome is what `greet` brought. */
export class SshSession implements SessionConnection {
  readonly #transport: Transport;
  readonly #requests = new Requests();
  readonly #decoder = new Decoder(serverMessageSchema, LIMITS);
  readonly closed: Promise<Disconnect>;
  #disconnect: Disconnect | null = null;
  #turn: Promise<void> = Promise.resolve();
  #leasing = false;
  #closing: Promise<void> | null = null;
  #welcome: Welcome | null = null;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.closed = transport.closed.then((disconnect) => {
      this.#disconnect = disconnect;
      this.#requests.disconnected(disconnect);
      return disconnect;
    });
  }

  get welcome(): Welcome {
    if (!this.#welcome) throw new Error('the session was not welcomed');
    return this.#welcome;
  }

  /** For the transport: what the server sent. */
  readonly receive = (chunk: Buffer): void => {
    for (const decoded of this.#decoder.push(chunk)) {
      if (!decoded.ok) return this.#broken(`the server broke the protocol: ${decoded.fault.why}`);
      const { message } = decoded;
      if (message.type === 'error') return this.#broken(`the server ended the session: ${message.why}`);
      const fault = this.#requests.answer(message);
      if (fault !== null) return this.#broken(fault);
    }
  };

  /** Says `hello`: null where we are welcome. */
  async greet(hello: Extract<RunnerMessage, { type: 'hello' }>): Promise<Disconnect | null> {
    const reply = await this.#ask(hello, ['welcome', 'refused', 'busy'], { alone: true });
    switch (reply.type) {
      case 'welcome':
        this.#welcome = reply;
        return null;
      case 'refused':
        return { reason: 'refused', why: reply.why, code: reply.code };
      case 'busy':
        return { reason: 'busy', why: reply.why };
      case 'disconnected':
        return reply.disconnect;
      default:
        return { reason: 'protocol', why: `the server answered 'hello' with '${reply.type}'` };
    }
  }

  async lease(request: LeaseRequest): Promise<Reply<'job' | 'idle'>> {
    this.#leasing = true;
    const waitMs = request.waitSeconds * 1000;
    const message = { type: 'lease', ...request, accept: false } as const;
    const reply = await this.#ask(message, ['job', 'idle'], { alone: true, waitMs });
    this.#leasing = false;
    return reply as Reply<'job' | 'idle'>;
  }

  async heartbeat(run: number, attempt: number): Promise<Reply<'ok' | 'stale'>> {
    return await this.#report({ type: 'heartbeat', run, attempt });
  }

  async log(run: number, attempt: number, offset: number, bytes: Uint8Array): Promise<Reply<'ok' | 'stale'>> {
    return await this.#report({ type: 'log', run, attempt, offset, bytes: bytes.length }, bytes);
  }

  async artifact(run: number, attempt: number, part: ArtifactPart): Promise<Reply<'ok' | 'stale'>> {
    const { bytes, ...facts } = part;
    return await this.#report({ type: 'artifact', run, attempt, ...facts, bytes: bytes.length }, bytes);
  }

  async publish(run: number, attempt: number, request: PublishRequest): Promise<Reply<'ok' | 'stale'>> {
    return await this.#report({ type: 'publish', run, attempt, request });
  }

  async record(
    run: number,
    attempt: number,
    outcome: RunOutcome,
    logLength: number,
    rest: LogRest | null = null,
  ): Promise<Reply<'ok' | 'stale'>> {
    const message = recordMessage({ run, attempt, outcome, logLength, rest });
    const reply = await this.#ask(message, ['ok', 'stale'], {
      alone: true,
      ...(rest && { bytes: rest.bytes }),
    });
    return reply as Reply<'ok' | 'stale'>;
  }

  recordAndLease(record: RunRecord, request: LeaseRequest): RecordAndLease {
    this.#leasing = true;
    let answered: (reply: AnyReply) => void = () => {};
    const lease = new Promise<AnyReply>((resolve) => {
      answered = resolve;
    });
    const behind = {
      message: { type: 'lease', ...request, accept: true } as const,
      waitMs: request.waitSeconds * 1000,
      answered,
    };
    const message = recordMessage(record);
    const recorded = this.#ask(message, ['ok', 'stale'], {
      alone: true,
      ...(record.rest && { bytes: record.rest.bytes }),
      behind,
    });
    const leased = lease.then((reply) => {
      this.#leasing = false;
      return reply as Reply<'job' | 'idle'>;
    });
    return { recorded: recorded as Promise<Reply<'ok' | 'stale'>>, leased };
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave();
    return this.#closing;
  }

  destroy(): void {
    this.#transport.end(CLOSED);
  }

  async #leave(): Promise<void> {
    // While a lease waits nothing else is answered; closing withdraws it.
    if (!this.#leasing && !this.#disconnect) {
      this.#transport.expectEnd(CLOSED);
      await Promise.race([this.#ask({ type: 'bye' }, ['ok'], {}), after(BYE_MS)]);
    }
    this.destroy();
    await Promise.race([this.closed, after(CLOSE_MS)]);
  }

  async #report(message: RunnerMessage, bytes?: Uint8Array): Promise<Reply<'ok' | 'stale'>> {
    return (await this.#ask(message, ['ok', 'stale'], bytes ? { bytes } : {})) as Reply<'ok' | 'stale'>;
  }

  /**
   * Sends when its turn has come. The turn passes on once there is room for more; one that must be
   * outstanding `alone` waits for the replies before it, and those after it wait for its own.
   */
  async #ask(message: RunnerMessage, expects: readonly Type[], options: AskOptions): Promise<AnyReply> {
    const before = this.#turn;
    let pass = () => {};
    this.#turn = new Promise((resolve) => {
      pass = resolve;
    });
    await before;
    const { alone, waitMs = 0, bytes, behind } = options;
    if (alone) await this.#requests.idle();
    if (this.#disconnect) {
      const reply = { type: 'disconnected', disconnect: this.#disconnect } as const;
      behind?.answered(reply);
      pass();
      return reply;
    }
    const reply = this.#within(REPLY_MS + waitMs, message, this.#requests.add(expects));
    const next = behind && this.#expectBehind(behind);
    const parts = [encodeLine(message), bytes ?? NOTHING, behind ? encodeLine(behind.message) : NOTHING];
    const written = this.#transport.write(parts.filter(({ length }) => length > 0));
    void (alone ? Promise.all([reply, next]) : written).finally(pass);
    await written;
    return await reply;
  }

  async #expectBehind({ message, waitMs, answered }: Behind): Promise<void> {
    answered(await this.#within(REPLY_MS + waitMs, message, this.#requests.add(['job', 'idle'])));
  }

  async #within(ms: number, message: RunnerMessage, reply: Promise<AnyReply>): Promise<AnyReply> {
    const why = `the server did not answer '${message.type}' in ${Math.round(ms / 1000)} s`;
    const timer = setTimeout(() => this.#transport.end({ reason: 'unreachable', why }), ms);
    try {
      return await reply;
    } finally {
      clearTimeout(timer);
    }
  }

  #broken(why: string): void {
    this.#transport.end({ reason: 'protocol', why });
  }
}

/** A lease that is sent with a message, and answered after it. */
interface Behind {
  readonly message: Extract<RunnerMessage, { type: 'lease' }>;
  readonly waitMs: number;
  readonly answered: (reply: AnyReply) => void;
}

interface AskOptions {
  readonly alone?: boolean;
  readonly waitMs?: number;
  readonly bytes?: Uint8Array;
  readonly behind?: Behind;
}

function recordMessage({ rest, ...record }: RunRecord): RunnerMessage {
  return { type: 'record', ...record, offset: rest?.offset ?? 0, bytes: rest?.bytes.length ?? 0 };
}

async function after(ms: number): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
}
