import { closeSync, readSync } from 'node:fs';
import net from 'node:net';
import type { RunLog } from '../log/run-log.ts';
import type { StreamLog } from '../log/stream-log.ts';

/** How long a step runs before its output is followed: until then it needs no socket, nor the event loop for its end. */
const FOLLOW_AFTER_MS = 10;
/** What a FIFO holds that nobody has asked for more. */
const FIFO_BYTES = 64 * 1024;

/** One end of a step's output, read through a descriptor that the main thread opened without blocking. */
export class Output {
  readonly #fd: number;
  readonly #stream: StreamLog;
  readonly #log: RunLog;
  readonly #late: NodeJS.Timeout;
  readonly closed: Promise<void>;
  #onClosed: () => void = () => {};
  #socket: net.Socket | null = null;
  #ended = false;

  constructor(fd: number, log: RunLog, stream: StreamLog) {
    this.#fd = fd;
    this.#stream = stream;
    this.#log = log;
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve;
    });
    this.#late = setTimeout(() => this.#follow(), FOLLOW_AFTER_MS);
  }

  /** By itself: its last writer has gone, and everything was read. */
  get isClosed(): boolean {
    return this.#ended;
  }

  get lastLine(): string {
    return this.#stream.lastLine;
  }

  /** The step has ended: what is there is read at once, and where nobody else may write any more that is all. */
  takeRest(): void {
    if (this.#socket || this.#ended) return;
    if (!this.#readToEnd()) {
      this.#log.flushSoon();
      return this.#follow();
    }
    closeSync(this.#fd);
    this.#end();
  }

  destroy(): void {
    if (this.#socket) this.#socket.destroy();
    else if (!this.#ended) closeSync(this.#fd);
    this.#end();
  }

  /** False where it still has a writer: that may go on for ever. */
  #readToEnd(): boolean {
    const block = Buffer.allocUnsafe(FIFO_BYTES);
    for (let taken = 0; taken <= FIFO_BYTES; ) {
      let bytesRead: number;
      try {
        bytesRead = readSync(this.#fd, block, 0, block.length, null);
      } catch {
        return false; // it says nothing just now
      }
      if (bytesRead === 0) return true;
      this.#stream.push(block.subarray(0, bytesRead));
      taken += bytesRead;
    }
    return false;
  }

  #follow(): void {
    clearTimeout(this.#late);
    const socket = new net.Socket({ fd: this.#fd, readable: true, writable: false });
    this.#socket = socket;
    socket.on('data', (bytes) => {
      this.#stream.push(bytes);
      this.#log.flushSoon();
    });
    socket.on('error', () => {}); // close follows
    socket.once('close', () => this.#end());
  }

  #end(): void {
    if (this.#ended) return;
    clearTimeout(this.#late);
    this.#ended = true;
    this.#stream.end();
    this.#log.flushSoon();
    this.#onClosed();
  }
}
