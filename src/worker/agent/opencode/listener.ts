import type { Event } from '@opencode-ai/sdk/v2/client';
import { oneLine } from '../../../shared/errors.ts';
import type { Connection } from './connection.ts';
import type { Progress } from './progress.ts';

/** How long a turn waits for the stream of events to begin: it goes without where it does not. */
const LISTENING_MS = 5_000;

/**
 * Hears what the server says of one session while a turn runs: its progress for the log, that it may have
 * ended, and questions, which nobody is there to answer and which would be waited for without end. The turn
 * does not rely on it: what ends a turn is asked for.
 */
export class Listener {
  /** Resolves when the stream has begun, or could not. */
  readonly listening: Promise<void>;
  readonly #connection: Connection;
  readonly #session: string;
  readonly #progress: Progress;
  readonly #abort = new AbortController();
  readonly #cut: AbortSignal;
  #waiting: (() => void) | null = null;
  #stirred = false;
  #error: string | null = null;

  /** `cut`: nothing is waited for once it aborts. */
  constructor(connection: Connection, session: string, progress: Progress, cut: AbortSignal) {
    this.#connection = connection;
    this.#session = session;
    this.#progress = progress;
    this.#cut = cut;
    this.#cut.addEventListener('abort', this.#stir);
    this.listening = new Promise((resolve) => {
      const timer = setTimeout(resolve, LISTENING_MS);
      void this.#listen(resolve).finally(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Why the server could not hold the turn at all, in one line. */
  get error(): string | null {
    return this.#error;
  }

  /** Resolves when there may be something new to be asked for, or after so long. */
  async stirred(withinMs: number): Promise<void> {
    if (!this.#stirred && !this.#cut.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        this.#waiting = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#waiting = null;
    this.#stirred = false;
  }

  /** Idempotent. */
  close(): void {
    this.#abort.abort();
    this.#cut.removeEventListener('abort', this.#stir);
  }

  readonly #stir = (): void => {
    this.#stirred = true;
    this.#waiting?.();
  };

  async #listen(begun: () => void): Promise<void> {
    try {
      const { stream } = await this.#connection.client.event.subscribe(
        {},
        { signal: this.#abort.signal, sseMaxRetryAttempts: 3 },
      );
      for await (const event of stream) {
        begun();
        this.#hear(event);
      }
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#progress.note(`its progress cannot be heard: ${oneLine(error)}`);
    }
  }

  #hear(event: Event): void {
    switch (event.type) {
      case 'message.part.updated':
        if (event.properties.part.sessionID !== this.#session) return;
        this.#progress.part(event.properties.part);
        if (this.#progress.isEndless(this.#connection.access.mostSteps)) this.#stir();
        return;
      case 'session.error': {
        if (event.properties.sessionID !== this.#session) return;
        const { error } = event.properties;
        const said = (error?.data as { message?: unknown } | undefined)?.message;
        this.#error = typeof said === 'string' ? said : (error?.name ?? 'an error');
        this.#stir();
        return;
      }
      case 'session.status':
        if (event.properties.sessionID !== this.#session) return;
        this.#progress.status(event.properties.status);
        // One that is busy is asked after in its time.
        if (event.properties.status.type === 'idle') this.#stir();
        return;
      case 'session.idle':
        if (event.properties.sessionID === this.#session) this.#stir();
        return;
      case 'permission.asked': {
        const { id, sessionID, permission } = event.properties;
        if (sessionID !== this.#session) return;
        this.#progress.note(`asked for leave (${permission}), which nobody is there to give`);
        void this.#connection.ask((client, options) =>
          client.permission.reply({ requestID: id, reply: 'reject' }, options),
        );
        return;
      }
      case 'question.asked': {
        const { id, sessionID } = event.properties;
        if (sessionID !== this.#session) return;
        void this.#connection.ask((client, options) => client.question.reject({ requestID: id }, options));
        return;
      }
      default:
    }
  }
}
