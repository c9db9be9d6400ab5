import type { Socket } from 'node:net';
import type { ServerChannel } from 'ssh2';
import type { Wire } from './conversation.ts';

/** ssh2 passes on what the window allows whatever the socket says, and a window can be set to anything. */
const UNSENT_BYTES = 1024 * 1024;

/**
 * A channel as a conversation sees it. What is pending when a connection closes gets no callback, no
 * drain and no error from ssh2, so a wait for room ends with the socket's `close` as well.
 */
export class ChannelWire implements Wire {
  readonly #channel: ServerChannel;
  readonly #socket: Socket;
  readonly #onEnd: () => void;
  #wake: () => void = () => {};

  constructor(channel: ServerChannel, socket: Socket, onEnd: () => void) {
    this.#channel = channel;
    this.#socket = socket;
    this.#onEnd = onEnd;
    channel.on('drain', () => this.#wake());
    socket.on('drain', () => this.#wake());
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.#socket.destroyed || !this.#channel.writable) return;
    if (this.#channel.write(bytes) && this.#socket.writableLength < UNSENT_BYTES) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#socket.destroyed) resolve();
    });
  }

  pause(): void {
    this.#channel.pause();
  }

  resume(): void {
    this.#channel.resume();
  }

  end(): void {
    if (this.#channel.writable) {
      this.#channel.exit(0);
      this.#channel.end();
    }
    this.#onEnd();
  }

  /** The socket has closed. */
  closed(): void {
    this.#wake();
  }
}
