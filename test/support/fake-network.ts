import type {
  Connect,
  Disconnect,
  LeaseRequest,
  LogRest,
  RecordAndLease,
  Reply,
  RunRecord,
  SessionConnection,
} from '../../src/runner/session/session.ts';
import { SessionLink } from '../../src/runner/slots/session-link.ts';
import type { Published, PublishRequest } from '../../src/shared/agent/result.ts';
import type { RunOutcome } from '../../src/shared/outcome.ts';
import { PROTOCOL_VERSION, RECORD_MORE_PROTOCOL_VERSION } from '../../src/shared/protocol/messages.ts';

type Ok = Reply<'ok' | 'stale'>;

export const PASSED: RunOutcome = { result: 'passed', reason: null, detail: '', steps: [], durationMs: 1 };

/**
 * A server at the other end of a network that is a few promises: keeps the log, artifacts and records
 * that it is sent, and breaks when told to. Its sessions answer as the protocol says.
 */
export class FakeServer {
  log = Buffer.alloc(0);
  readonly artifacts = new Map<string, { bytes: Buffer; complete: boolean }>();
  readonly records: { outcome: RunOutcome; logLength: number }[] = [];
  /** Asked for with a record. */
  readonly leases: LeaseRequest[] = [];
  connects = 0;
  protocol: number = PROTOCOL_VERSION;
  frameBytes = 4;
  leaseSeconds = 300;
  /** Each says what to do with the next message of its kind; null answers it as ever. */
  onLog: (offset: number, bytes: Uint8Array) => Ok | null = () => null;
  onArtifact: (part: { offset: number; last: boolean }) => Ok | null = () => null;
  onRecord: (logLength: number, rest: LogRest | null) => Ok | null | Promise<Ok> = () => null;
  /** One after the other; the last again and again. */
  published: Published[] = [];
  readonly asked: PublishRequest[] = [];
  onLease: (request: LeaseRequest) => Reply<'job' | 'idle'> | null = () => null;
  onPublish: () => Ok | null = () => null;
  onHeartbeat: (run: number) => Ok | null = () => null;
  onConnect: (session: FakeSession) => void = () => {};
  #current: FakeSession | null = null;

  readonly connect: Connect = async () => {
    this.connects++;
    const session = new FakeSession(this);
    this.#current = session;
    this.onConnect(session);
    return { ok: true, session };
  };

  link(backoffMs: (tries: number) => number = () => 0): SessionLink {
    return new SessionLink({
      connect: this.connect,
      endpoint: { host: 'h', port: 1, account: 'a', privateKey: Buffer.alloc(0), hostKeys: [] },
      hello: {} as Parameters<Connect>[1],
      backoffMs,
      onEvent: () => {},
      welcomed: false,
    });
  }

  /** Breaks the connection: what is asked of it from now on is not answered. */
  hangUp(reason: Disconnect['reason'] = 'unreachable'): Ok {
    const disconnect: Disconnect = { reason, why: 'it hung up' };
    this.#current?.end(disconnect);
    return { type: 'disconnected', disconnect };
  }

  takeLog(offset: number, bytes: Uint8Array): Ok {
    if (offset === this.log.length) this.log = Buffer.concat([this.log, bytes]);
    return { type: 'ok', offset: this.log.length };
  }

  takeArtifact(name: string, offset: number, bytes: Uint8Array, last: boolean): Ok {
    const kept = this.artifacts.get(name) ?? { bytes: Buffer.alloc(0), complete: false };
    this.artifacts.set(name, kept);
    if (offset === kept.bytes.length && !kept.complete) {
      kept.bytes = Buffer.concat([kept.bytes, bytes]);
      kept.complete = last;
    }
    return { type: 'ok', offset: kept.bytes.length };
  }

  takePublish(request: PublishRequest): Ok {
    this.asked.push(request);
    const [next = { state: 'pending' }] = this.published;
    if (this.published.length > 1) this.published.shift();
    return { type: 'ok', published: next };
  }

  takeRecord(outcome: RunOutcome, logLength: number, rest: LogRest | null): Ok {
    if (rest && this.protocol >= RECORD_MORE_PROTOCOL_VERSION) this.takeLog(rest.offset, rest.bytes);
    if (this.log.length < logLength) return { type: 'ok', offset: this.log.length };
    this.records.push({ outcome, logLength });
    return { type: 'ok' };
  }
}

export class FakeSession implements SessionConnection {
  readonly welcome: SessionConnection['welcome'];
  readonly closed: Promise<Disconnect>;
  readonly #server: FakeServer;
  #end: (disconnect: Disconnect) => void = () => {};
  #ended: Disconnect | null = null;

  constructor(server: FakeServer) {
    this.#server = server;
    const { protocol, frameBytes, leaseSeconds } = server;
    this.welcome = {
      type: 'welcome',
      session: 's',
      server: 'abcd',
      protocol,
      leaseSeconds,
      limits: { frameBytes },
    } as FakeSession['welcome'];
    this.closed = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  end(disconnect: Disconnect): void {
    this.#ended ??= disconnect;
    this.#end(this.#ended);
  }

  async lease(request: LeaseRequest): Promise<Reply<'job' | 'idle'>> {
    const answer = this.#ended ? null : this.#server.onLease(request);
    if (answer) return answer;
    const disconnect = await this.closed;
    return { type: 'disconnected', disconnect };
  }

  async heartbeat(run: number): Promise<Ok> {
    return this.#gone() ?? this.#server.onHeartbeat(run) ?? { type: 'ok' };
  }

  async log(_run: number, _attempt: number, offset: number, bytes: Uint8Array): Promise<Ok> {
    return this.#gone() ?? this.#server.onLog(offset, bytes) ?? this.#server.takeLog(offset, bytes);
  }

  async artifact(
    _run: number,
    _attempt: number,
    part: { name: string; offset: number; bytes: Uint8Array; last: boolean },
  ): Promise<Ok> {
    return (
      this.#gone() ??
      this.#server.onArtifact(part) ??
      this.#server.takeArtifact(part.name, part.offset, part.bytes, part.last)
    );
  }

  async publish(_run: number, _attempt: number, request: PublishRequest): Promise<Ok> {
    return this.#gone() ?? this.#server.onPublish() ?? this.#server.takePublish(request);
  }

  async record(
    _run: number,
    _attempt: number,
    outcome: RunOutcome,
    logLength: number,
    rest: LogRest | null = null,
  ): Promise<Ok> {
    const server = this.#server;
    return (
      this.#gone() ?? (await server.onRecord(logLength, rest)) ?? server.takeRecord(outcome, logLength, rest)
    );
  }

  recordAndLease(record: RunRecord, request: LeaseRequest): RecordAndLease {
    const { run, attempt, outcome, logLength, rest } = record;
    this.#server.leases.push(request);
    return { recorded: this.record(run, attempt, outcome, logLength, rest), leased: this.lease(request) };
  }

  async close(): Promise<void> {
    this.destroy();
  }

  destroy(): void {
    this.end({ reason: 'closed', why: 'closed' });
  }

  #gone(): Ok | null {
    return this.#ended && { type: 'disconnected', disconnect: this.#ended };
  }
}
