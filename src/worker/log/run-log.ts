import { formatRecord } from '../../shared/log-record.ts';
import { Masker, PatternSet, secretPatterns } from './masker.ts';
import { Spool } from './spool.ts';
import { RECORD_BYTES, StreamLog } from './stream-log.ts';

/** The log of one run: its steps' streams and vole's own lines, in one spool. */
export class RunLog {
  readonly #spool: Spool;
  readonly #patterns: PatternSet;
  readonly #startedAt: number;
  #flushing: NodeJS.Immediate | null = null;
  #lastMs = 0;

  constructor(options: {
    /** Of the spool, open for appending; its opener's to close. */
    fd: number;
    limitBytes: number;
    secrets: readonly string[];
    startedAt: number;
    onSpooled: (bytes: number) => void;
    onFailure?: (error: NodeJS.ErrnoException) => void;
  }) {
    this.#spool = new Spool(options.fd, options.limitBytes, options.onSpooled, options.onFailure);
    this.#patterns = new PatternSet(secretPatterns(options.secrets));
    this.#startedAt = options.startedAt;
  }

  stream(step: number, letter: 'o' | 'e'): StreamLog {
    return new StreamLog(this.#spool, this.#patterns, this.#stamp, step, letter);
  }

  /** vole's own words; several lines are several records. */
  say(step: number, text: string): void {
    for (const line of this.mask(text).split(/\r?\n/)) {
      const cut = line.slice(0, RECORD_BYTES / 4);
      const record = formatRecord({ ms: this.#stamp(), step, stream: 'v', continues: false, text: cut });
      const bytes = Buffer.byteLength(record);
      const { block, at } = this.#spool.room(bytes);
      block.write(record, at, 'utf8');
      this.#spool.commit(bytes);
    }
    this.flushSoon();
  }

  /** A text that leaves the run by another way than its log, without the run's secrets. */
  mask(text: string): string {
    const masker = new Masker(this.#patterns);
    return Buffer.concat([masker.push(Buffer.from(text)), masker.end()]).toString('utf8');
  }

  /** What was read in this turn of the event loop goes out together. */
  flushSoon(): void {
    this.#flushing ??= setImmediate(() => {
      this.#flushing = null;
      this.#spool.flush();
    });
  }

  get failure(): NodeJS.ErrnoException | null {
    return this.#spool.failure;
  }

  /** Returns the spool's final length. */
  close(): number {
    if (this.#flushing) clearImmediate(this.#flushing);
    return this.#spool.close((bytes) =>
      formatRecord({
        ms: this.#stamp(),
        step: 0,
        stream: 'v',
        continues: false,
        text: `the log is over its limit: ${bytes} bytes are missing here`,
      }),
    );
  }

  /** Stamps never run backwards, whatever the clock does. */
  readonly #stamp = (): number => {
    this.#lastMs = Math.max(this.#lastMs, Date.now() - this.#startedAt);
    return this.#lastMs;
  };
}
