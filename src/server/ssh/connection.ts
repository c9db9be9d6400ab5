import type { Socket } from 'node:net';
import type { AuthContext, ServerChannel, Session, Connection as SshConnection } from 'ssh2';
import { EXEC_COMMAND } from '../../shared/protocol/messages.ts';
import { type Authenticated, authenticate } from './authenticate.ts';
import { ChannelWire } from './channel-wire.ts';
import { Conversation } from './conversation.ts';
import { foreignHello } from './foreign-hello.ts';
import type { EndpointLimits } from './limits.ts';
import { RunnerSession } from './runner-session.ts';
import type { SessionServices } from './services.ts';

/** As pino has it: facts first. */
export interface EndpointLog {
  debug(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
}

export interface ConnectionParts {
  readonly services: SessionServices;
  readonly limits: EndpointLimits;
  readonly log: EndpointLog;
  /** Gives the place among the unwelcomed back. */
  readonly leave: () => void;
}

/**
 * One TCP connection: a key exchange, an account, one exec channel, and then messages. The socket's
 * `close` is its only end, and everything that it held is given back there.
 */
export class Connection {
  readonly #parts: ConnectionParts;
  readonly #socket: Socket;
  readonly #address: string;
  /** Resolves when the connection is closed and its session has ended in the store. */
  readonly closed: Promise<void>;
  #handshake: NodeJS.Timeout;
  #linger: NodeJS.Timeout | null = null;
  #ssh: SshConnection | null = null;
  #peer: Authenticated | null = null;
  #tries = 0;
  #sessions = 0;
  #channel: ServerChannel | null = null;
  #wire: ChannelWire | null = null;
  #session: RunnerSession | null = null;
  #isWelcome = false;
  #conversation: Conversation | null = null;

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#address = socket.remoteAddress ?? '';
    socket.on('error', () => {}); // `close` follows, and that is what counts
    this.#handshake = setTimeout(() => {
      if (this.#conversation) this.#conversation.fail("no 'hello' came in time");
      else this.destroy();
    }, parts.limits.handshakeMs);
    this.closed = new Promise<void>((resolve) => {
      socket.once('close', () => void this.#release().then(resolve));
    });
  }

  /** The peer speaks SSH. */
  attach(ssh: SshConnection): void {
    this.#ssh = ssh;
    // For life: more than one can come, and one without a listener would end the process. ssh2 does
    // not close a connection whose keepalive was not answered.
    ssh.on('error', () => this.#end());
    ssh.on('authentication', (context) => void this.#authenticate(context));
    ssh.on('session', (accept, reject) => this.#open(accept, reject));
    // After ssh2's own listener, so that what this chunk brought is counted.
    this.#socket.on('data', () => {
      const { unreadBytes, unsentBytes } = this.#parts.limits;
      if ((this.#channel?.readableLength ?? 0) > unreadBytes)
        this.#note('the peer does not keep to the window');
      else if (this.#socket.writableLength > unsentBytes) this.#note('the peer asks, and takes no answers');
      else return;
      this.destroy();
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Some account has lost a key, perhaps this one's. */
  keysRemoved(): void {
    const session = this.#session;
    // One without a session yet meets the check at its first lease.
    session?.keysRemoved().catch((error: unknown) => {
      this.#parts.log.error({ err: error, address: this.#address }, 'a key could not be checked');
      this.destroy();
    });
  }

  async #authenticate(context: AuthContext): Promise<void> {
    try {
      const peer = this.#peer ? null : await authenticate(context, this.#parts.services.store.accounts);
      if (this.#socket.destroyed) return;
      if (peer) {
        if (context.method === 'publickey' && context.signature) this.#peer = peer;
        return context.accept();
      }
      context.reject(['publickey']);
      if (context.method === 'publickey') {
        const facts = { account: context.username, address: this.#address };
        this.#parts.log.debug(facts, 'a key was refused');
      }
      // `none` is how a client asks what there is; it tries nothing.
      if (context.method !== 'none' && ++this.#tries >= this.#parts.limits.authTries) this.#end();
    } catch (error) {
      this.#parts.log.error({ err: error, address: this.#address }, 'a key could not be checked');
      this.destroy();
    }
  }

  #open(accept: () => Session, reject: () => unknown): void {
    if (++this.#sessions > 1) {
      reject();
      if (this.#conversation) this.#conversation.fail('a connection has one channel');
      else this.#end();
      return;
    }
    const session = accept();
    session.on('exec', (acceptExec, rejectExec, { command }) => {
      if (this.#channel || command !== EXEC_COMMAND) {
        rejectExec?.();
        return this.#end();
      }
      this.#converse(acceptExec());
    });
  }

  #converse(channel: ServerChannel): void {
    const { services, limits, log } = this.#parts;
    const { account, publicKey } = this.#peer ?? { account: '', publicKey: '' };
    const wire = new ChannelWire(channel, this.#socket, () => this.#end());
    const session = new RunnerSession(services, {
      account,
      publicKey,
      address: this.#address,
      drop: () => this.destroy(),
    });
    const conversation: Conversation = new Conversation({
      wire,
      limits,
      recover: (value) => foreignHello(value, services.protocol),
      answer: async (message, bytes) => {
        const answer = await session.answer(message, bytes);
        if (session.welcomed) this.#welcomed();
        return answer;
      },
      withdraw: () => session.withdraw(),
      onFault: (why, error) => {
        if (error === null) this.#note(why);
        else log.error({ err: error, account, address: this.#address }, why);
      },
    });
    this.#channel = channel;
    this.#wire = wire;
    this.#session = session;
    this.#conversation = conversation;
    channel.on('error', () => {});
    channel.on('data', (chunk: Buffer) => conversation.receive(chunk));
    // The peer has ended its side: what it has said before is answered.
    channel.on('end', () => {
      session.withdraw();
      void conversation.finish();
    });
  }

  #welcomed(): void {
    if (this.#isWelcome) return;
    this.#isWelcome = true;
    this.#parts.log.debug({ account: this.#peer?.account, address: this.#address }, 'a session began');
    clearTimeout(this.#handshake);
    this.#parts.leave();
  }

  /**
   * Lets what was written go out, for a bounded time. What still comes in is thrown away. The peer closes the
   * channel first: OpenSSH forgets what it has not printed yet where a disconnect comes with it.
   */
  #end(): void {
    if (this.#linger) return;
    this.#linger = setTimeout(() => this.destroy(), this.#parts.limits.lingerMs);
    this.#session?.withdraw();
    const channel = this.#channel;
    if (!channel) return this.#disconnect();
    channel.resume();
    channel.once('close', () => this.#disconnect());
    channel.close();
  }

  #disconnect(): void {
    try {
      this.#ssh?.end();
    } catch {
      this.destroy(); // ssh2 throws where the connection is half gone
    }
  }

  async #release(): Promise<void> {
    clearTimeout(this.#handshake);
    if (this.#linger) clearTimeout(this.#linger);
    this.#parts.leave();
    this.#wire?.closed();
    this.#session?.withdraw();
    try {
      // A lease that is being claimed at this moment is given back too.
      await this.#conversation?.stop();
      await this.#session?.ended();
    } catch (error) {
      this.#parts.log.error({ err: error }, 'a session could not be ended; its lease will expire');
    }
  }

  #note(why: string): void {
    this.#parts.log.warn({ account: this.#peer?.account, address: this.#address }, why);
  }
}
