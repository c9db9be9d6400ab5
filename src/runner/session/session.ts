import type { PublishRequest } from '../../shared/agent/result.ts';
import type { RunOutcome } from '../../shared/outcome.ts';
import {
  type Hello,
  RECORD_MORE_PROTOCOL_VERSION,
  type ServerMessage,
} from '../../shared/protocol/messages.ts';

/** Where a slot connects and as whom. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly account: string;
  /** Private key, OpenSSH format, already read. */
  readonly privateKey: Buffer;
  /** `SHA256:...` fingerprints of the host keys that are accepted. */
  readonly hostKeys: readonly string[];
}

export type Welcome = Extract<ServerMessage, { type: 'welcome' }>;

/**
 * Why a connection could not be made or went away.
 *
 * - `unreachable`: no TCP connection, or it broke; `not-ssh`: what answers speaks no SSH
 * - `host-key`: another host key than asked for; `auth`: the server does not know our key
 * - `busy`: too many sessions: all of these but `host-key`, `auth` and `not-ssh` are retried for ever;
 *   those three are final at start-up and retried once a session has been welcomed before
 * - `refused`: the server said so at `hello`; `protocol`: it broke the protocol or a limit
 * - `closed`: we ended it
 */
export type Disconnect = {
  readonly reason:
    | 'unreachable'
    | 'not-ssh'
    | 'host-key'
    | 'auth'
    | 'busy'
    | 'refused'
    | 'protocol'
    | 'closed';
  readonly why: string;
  /** With `refused`: the server's code. */
  readonly code?: 'protocol' | 'repos' | 'account';
};

/** What one attempt to connect gave. */
export type Connected = { ok: true; session: SessionConnection } | { ok: false; disconnect: Disconnect };

export interface LeaseRequest {
  readonly key: string;
  readonly waitSeconds: number;
  readonly freeCpus: number;
  readonly freeMemoryBytes: number;
}

/** Asks for what stands under a key, and for nothing new: no run is content with no core. */
export function standingLease(key: string): LeaseRequest {
  return { key, waitSeconds: 0, freeCpus: 0, freeMemoryBytes: 0 };
}

export interface RecordAndLease {
  readonly recorded: Promise<Reply<'ok' | 'stale'>>;
  readonly leased: Promise<Reply<'job' | 'idle'>>;
}

/** How a run has ended. */
export interface RunRecord {
  readonly run: number;
  readonly attempt: number;
  readonly outcome: RunOutcome;
  readonly logLength: number;
  /** Of the log, what comes with it. */
  readonly rest: LogRest | null;
}

/** Bytes of a log and where they belong. */
export interface LogRest {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/**
 * One welcomed connection. Requests are answered in order; `lease` and `record` are outstanding
 * alone, but for a lease right behind a record. Each resolves with the reply or, where the connection went away first, with the
 * `Disconnect` : nobody knows then whether the server got it, and it is asked again on the next one.
 */
export interface SessionConnection {
  readonly welcome: Welcome;
  /** Resolves once, when the connection has closed, whoever closed it. */
  readonly closed: Promise<Disconnect>;
  lease(request: LeaseRequest): Promise<Reply<'job' | 'idle'>>;
  heartbeat(run: number, attempt: number): Promise<Reply<'ok' | 'stale'>>;
  /** `bytes` at most `limits.frameBytes`; empty asks for the durable offset. */
  log(run: number, attempt: number, offset: number, bytes: Uint8Array): Promise<Reply<'ok' | 'stale'>>;
  artifact(
    run: number,
    attempt: number,
    part: { name: string; offset: number; bytes: Uint8Array; last: boolean; sha256: string | null },
  ): Promise<Reply<'ok' | 'stale'>>;
  /** Only where both speak a protocol that has it. To be asked again while the reply says `pending`. */
  publish(run: number, attempt: number, request: PublishRequest): Promise<Reply<'ok' | 'stale'>>;
  /** `rest`: the last of the log, at most a frame; only where both speak a protocol that has it. */
  record(
    run: number,
    attempt: number,
    outcome: RunOutcome,
    logLength: number,
    rest?: LogRest | null,
  ): Promise<Reply<'ok' | 'stale'>>;
  /**
   * Both in one breath, each with its reply; only where both speak a protocol that has it. A job may come
   * `accepted`: it is ours without a heartbeat, and closing the session does not give it back.
   */
  recordAndLease(record: RunRecord, request: LeaseRequest): RecordAndLease;
  /** Says `bye`, waits for its reply a short bounded time, closes. Idempotent. */
  close(): Promise<void>;
  /** Closes at once, without `bye`: a waiting lease is thereby withdrawn. */
  destroy(): void;
}

export type Reply<T extends ServerMessage['type']> =
  | Extract<ServerMessage, { type: T }>
  | { type: 'disconnected'; disconnect: Disconnect };

/** Connects, verifies the host key, authenticates, opens the exec channel and says `hello`. */
export type Connect = (
  endpoint: Endpoint,
  hello: Omit<Hello, 'type' | 'protocol'>,
  options: { signal: AbortSignal },
) => Promise<Connected>;

/** Whether more than the record itself may come with it. */
export function takesMore({ welcome }: Pick<SessionConnection, 'welcome'>): boolean {
  return welcome.protocol >= RECORD_MORE_PROTOCOL_VERSION;
}

/** Whether a record may bring this many bytes of its log along. */
export function takesRest(session: Pick<SessionConnection, 'welcome'>, bytes: number): boolean {
  return takesMore(session) && bytes <= session.welcome.limits.frameBytes;
}
