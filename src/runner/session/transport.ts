import net from 'node:net';
import ssh2, { type ClientChannel } from 'ssh2';
import { oneLine, remedyOf } from '../../shared/errors.ts';
import { gatherWrites } from '../../shared/protocol/gather-writes.ts';
import { EXEC_COMMAND } from '../../shared/protocol/messages.ts';
import { SSH_ALGORITHMS } from '../../shared/protocol/ssh-algorithms.ts';
import { fingerprintOf } from '../../shared/public-key.ts';
import { fingerprintOfPrivate } from './keys.ts';
import type { Disconnect, Endpoint } from './session.ts';

export interface TransportTimes {
  /** For TCP, key exchange and authentication together. */
  readonly readyMs: number;
  readonly keepaliveMs: number;
  readonly keepaliveCount: number;
}

export const TRANSPORT_TIMES: TransportTimes = { readyMs: 10_000, keepaliveMs: 5_000, keepaliveCount: 3 };

/**
 * An SSH connection with its one exec channel. The socket's `close` is the only truth about its end;
 * what was known of the reason by then is what `closed` resolves with.
 */
export class Transport {
  readonly #endpoint: Endpoint;
  readonly #socket: net.Socket;
  readonly #client = new ssh2.Client();
  readonly #where: string;
  readonly closed: Promise<Disconnect>;
  #reason: Disconnect | null = null;
  #channel: ClientChannel | null = null;
  #isClosed = false;
  #wake: () => void = () => {};

  constructor(endpoint: Endpoint, times: TransportTimes) {
    const { host, port } = endpoint;
    this.#endpoint = endpoint;
    this.#where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    this.#socket = net.connect({ host, port, noDelay: true });
    gatherWrites(this.#socket);
    this.#socket.on('error', (error) => this.#because('unreachable', oneLine(error)));
    this.#socket.on('drain', () => this.#wake());
    this.closed = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.#isClosed = true;
        this.#wake();
        this.#because('unreachable', 'the connection was closed');
        if (this.#reason) resolve(this.#reason);
      });
    });
    // For life: more than one can come, and one without a listener would end the process.
    this.#client.on('error', (error) => this.#failed(error));
    try {
      this.#client.connect({
        sock: this.#socket,
        username: endpoint.account,
        privateKey: endpoint.privateKey,
        authHandler: ['publickey'],
        readyTimeout: times.readyMs,
        keepaliveInterval: times.keepaliveMs,
        keepaliveCountMax: times.keepaliveCount,
        hostVerifier: (key: Buffer) => this.#verify(key),
        algorithms: {
          kex: [...SSH_ALGORITHMS.kex],
          serverHostKey: [...SSH_ALGORITHMS.serverHostKey],
          cipher: [...SSH_ALGORITHMS.cipher],
          hmac: [...SSH_ALGORITHMS.hmac],
          compress: [...SSH_ALGORITHMS.compress],
        },
      });
      this.#socket.once('connect', () => this.#socket.once('data', (first) => this.#sniff(first)));
    } catch (error) {
      this.end({ reason: 'auth', why: `the account's key cannot be used: ${oneLine(error)}` });
    }
  }

  /** Opens the exec channel; false where the connection closed first, or will not have it. */
  async open(onData: (chunk: Buffer) => void): Promise<boolean> {
    const opened = new Promise<ClientChannel | null>((resolve) => {
      this.#client.once('ready', () => {
        try {
          this.#client.exec(EXEC_COMMAND, (error, channel) => resolve(error ? null : channel));
        } catch {
          resolve(null);
        }
      });
    });
    const channel = await Promise.race([opened, this.closed.then(() => null)]);
    if (!channel) {
      this.end({ reason: 'protocol', why: `${this.#where} speaks SSH, but is no vole server` });
      await this.closed;
      return false;
    }
    this.#channel = channel;
    channel.on('error', () => {});
    channel.on('drain', () => this.#wake());
    channel.on('data', onData);
    channel.stderr.resume();
    // The server has ended its side: there is nothing left to wait for.
    channel.on('close', () => this.end({ reason: 'unreachable', why: `${this.#where} closed the session` }));
    return true;
  }

  /** Resolves when more may be written, or the connection is gone. */
  async write(parts: readonly Uint8Array[]): Promise<void> {
    const channel = this.#channel;
    if (!channel || this.#isClosed || !channel.writable) return;
    let room = true;
    for (const part of together(parts)) room = channel.write(part);
    if (room) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#isClosed) resolve();
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The end that comes is the one that was asked for. */
  expectEnd(disconnect: Disconnect): void {
    this.#reason ??= disconnect;
  }

  /** Closes at once; `disconnect` is the reason unless there was one before. */
  end(disconnect: Disconnect): void {
    this.#reason ??= disconnect;
    this.#client.destroy();
    this.#socket.destroy();
  }

  #verify(key: Buffer): boolean {
    const fingerprint = fingerprintOf(key);
    if (this.#endpoint.hostKeys.includes(fingerprint)) return true;
    const wanted = this.#endpoint.hostKeys.join(' or ');
    const what = `its host key is ${fingerprint}, and --host-key says ${wanted}`;
    this.#because('host-key', `${what}; ${remedyOf('host-key-refused')}`);
    return false;
  }

  #failed(error: Error & { level?: string }): void {
    const text = oneLine(error);
    if (error.level === 'client-authentication') {
      const { account, privateKey } = this.#endpoint;
      const what = `it does not know this key, ${fingerprintOfPrivate(privateKey)}, for account ${account}`;
      this.#because('auth', `${what}; ${remedyOf('key-refused', { ACCOUNT: account })}`);
    } else this.#because(error.level === 'handshake' ? 'protocol' : 'unreachable', text);
    this.#socket.destroy();
  }

  /** ssh2 takes everything before an SSH greeting for a banner, for as long as it comes. */
  #sniff(first: Buffer): void {
    if (first.subarray(0, 4).toString('latin1') === 'SSH-') return;
    const what = 'what answers there is no SSH server, and may be the --http address of one of ours';
    this.#because('not-ssh', `${what}; ${remedyOf('server-unreachable')}`);
    this.#socket.destroy();
  }

  #because(reason: Disconnect['reason'], why: string): void {
    this.#reason ??= { reason, why: `server ${this.#where}: ${why}` };
  }
}

/** Below this, copying is less work than one more packet to encrypt and write. */
const SMALL_BYTES = 16 * 1024;

function together(parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  return parts.length > 1 && bytes <= SMALL_BYTES ? [Buffer.concat(parts)] : parts;
}
