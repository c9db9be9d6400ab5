import { type LogRest, takesRest } from '../session/session.ts';
import type { SessionLink } from '../slots/session-link.ts';
import type { ReporterEvents } from './reporter-events.ts';
import type { SpoolReader } from './spool-reader.ts';

type LogEvents = Pick<ReporterEvents, 'cancel' | 'stale'>;
type Session = NonNullable<Awaited<ReturnType<SessionLink['session']>>>;

interface Sending {
  durable: number;
  inOrder: boolean;
  stale: string | null;
  unreadable: boolean;
}

/** Frames on their way at once: order is kept, and the next is read while the last one is synced. */
const WINDOW = 3;
/** What little a step says waits this long for more; nobody who follows a log sees it. */
const GATHER_MS = 25;
const GATHER_BYTES = 32 * 1024;
/** At most this much is left to the record. */
const REST_BYTES = 16 * 1024;

/**
 * Sends a run's log from its spool at the session's pace. After a reconnect it asks the server for
 * its durable offset and goes on from there, so neither a lost connection nor a lost server costs a
 * byte, and memory is bounded by the window.
 */
export class LogSender {
  readonly #link: SessionLink;
  readonly #run: number;
  readonly #attempt: number;
  #spool: Pick<SpoolReader, 'read'> | null;
  readonly #events: LogEvents;
  #available = 0;
  #final = false;
  /** How much of the end may be left to the record. */
  #keep = 0;
  #stopped = false;
  #unreadable = false;
  #wake: () => void = () => {};
  #durable = 0;
  #done: Promise<void>;

  /** `spool`: null where the run has no log to send, or none that can be read. */
  constructor(
    link: SessionLink,
    run: { run: number; attempt: number },
    spool: Pick<SpoolReader, 'read'> | null,
    events: LogEvents,
  ) {
    this.#link = link;
    this.#run = run.run;
    this.#attempt = run.attempt;
    this.#spool = spool;
    this.#events = events;
    this.#done = this.#loop();
  }

  /** The spool of a run that had none when its report began. */
  attach(spool: Pick<SpoolReader, 'read'>): void {
    this.#spool = spool;
  }

  /** The spool has this many bytes now. */
  grown(bytes: number): void {
    if (bytes <= this.#available || this.#unreadable) return;
    this.#available = bytes;
    this.#wake();
  }

  /**
   * No more will come after `bytes`; resolves when the server has all of them, or `stop` was called.
   * Gives the length of the log that can be sent: less than `bytes` where the spool cannot be read. With
   * `keepRest` a short end may be left for the record to bring along.
   */
  async finish(bytes: number, how = { keepRest: false }): Promise<{ length: number; rest: LogRest | null }> {
    if (!this.#unreadable) this.#available = Math.max(this.#available, bytes);
    this.#final = true;
    this.#keep = how.keepRest ? REST_BYTES : 0;
    this.#wake();
    await this.#done;
    const rest = await this.#rest();
    return { length: Math.min(bytes, this.#available), rest };
  }

  /** The server says that it has only this much: sends the rest again. Call after `finish`. */
  async resend(from: number): Promise<void> {
    this.#durable = from;
    this.#keep = 0;
    this.#done = this.#loop();
    await this.#done;
  }

  /** Gives up what was not sent: the attempt is stale, or the process ends. */
  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  async #loop(): Promise<void> {
    let inOrder = true;
    while (!this.#stopped) {
      if (this.#durable >= this.#available) {
        if (this.#final) return;
        await this.#until(() => this.#available > this.#durable);
        await this.#until(() => this.#available - this.#durable >= GATHER_BYTES, GATHER_MS);
        continue;
      }
      const session = await this.#link.session();
      if (!session || this.#stopped) return;
      if (inOrder && this.#mayKeepRest(session)) return;
      if (!inOrder) {
        const reply = await session.log(this.#run, this.#attempt, this.#durable, new Uint8Array());
        if (reply.type === 'stale') return this.#stale(reply.why);
        if (reply.type === 'disconnected') continue;
        this.#durable = reply.offset ?? this.#durable;
      }
      const sent = await this.#sendFrom(session, this.#durable);
      if (sent.stale !== null) return this.#stale(sent.stale);
      this.#durable = sent.durable;
      inOrder = sent.inOrder;
      if (sent.unreadable && inOrder) this.#cutShort(this.#durable);
    }
  }

  /** Sends all that is there; ends early where the connection or the order of offsets was lost. */
  async #sendFrom(session: Session, from: number): Promise<Sending> {
    const frameBytes = session.welcome.limits.frameBytes;
    const state: Sending = { durable: from, inOrder: true, stale: null, unreadable: false };
    const goesOn = (): boolean => state.inOrder && state.stale === null && !this.#stopped;
    const underWay: Promise<void>[] = [];
    try {
      for (let offset = from; goesOn() && offset < this.#available; ) {
        const buffer = Buffer.allocUnsafe(Math.min(frameBytes, this.#available - offset));
        const bytesRead = (await this.#spool?.read(buffer, offset)) ?? 0;
        if (bytesRead === 0) {
          state.unreadable = true; // a step has shortened it
          break;
        }
        const end = offset + bytesRead;
        const reply = session.log(this.#run, this.#attempt, offset, buffer.subarray(0, bytesRead));
        underWay.push(reply.then((answer) => this.#answered(answer, end, state)));
        offset = end;
        if (underWay.length >= WINDOW) await underWay.shift();
      }
    } catch {
      state.unreadable = true;
    }
    await Promise.all(underWay);
    return state;
  }

  #answered(answer: Awaited<ReturnType<Session['log']>>, end: number, state: Sending): void {
    if (answer.type === 'stale') state.stale = answer.why;
    else if (answer.type === 'disconnected' || answer.offset !== end) state.inOrder = false;
    else state.durable = end;
    if (answer.type === 'ok' && answer.cancel !== undefined) this.#events.cancel(answer.cancel);
  }

  #mayKeepRest(session: Session): boolean {
    const missing = this.#available - this.#durable;
    return this.#final && missing <= this.#keep && takesRest(session, missing);
  }

  async #rest(): Promise<LogRest | null> {
    const missing = this.#available - this.#durable;
    if (this.#stopped || missing <= 0 || missing > this.#keep) return null;
    const buffer = Buffer.allocUnsafe(missing);
    const bytesRead = (await this.#spool?.read(buffer, this.#durable).catch(() => 0)) ?? 0;
    if (bytesRead < missing) this.#cutShort(this.#durable + bytesRead);
    return bytesRead === 0 ? null : { offset: this.#durable, bytes: buffer.subarray(0, bytesRead) };
  }

  /** The disk or the job is at fault: a log cut short must not cost the run its record. */
  #cutShort(length: number): void {
    this.#unreadable = true;
    this.#available = length;
  }

  /** Returns early where no more will come, and after `ms`. */
  async #until(enough: () => boolean, ms: number | null = null): Promise<void> {
    await new Promise<void>((resolve) => {
      const late = ms === null ? null : setTimeout(resolve, ms);
      this.#wake = () => {
        if (!enough() && !this.#final && !this.#stopped) return;
        if (late) clearTimeout(late);
        resolve();
      };
      this.#wake();
    });
    this.#wake = () => {};
  }

  #stale(why: string): void {
    this.#stopped = true;
    this.#events.stale(why);
  }
}
