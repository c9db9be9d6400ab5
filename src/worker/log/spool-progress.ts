/** What little is written within this time is told together; nobody who follows a log sees it. */
const GATHER_MS = 25;
/** As much is told at once. */
const MOST_BYTES = 64 * 1024;

/** Tells the main thread how long the spool is: each time wakes it. */
export class SpoolProgress {
  readonly #tell: (bytes: number) => void;
  #length = 0;
  #told = 0;
  #later: NodeJS.Timeout | null = null;

  constructor(tell: (bytes: number) => void) {
    this.#tell = tell;
  }

  /** The spool has this many bytes now. */
  grown(length: number): void {
    this.#length = length;
    if (length - this.#told >= MOST_BYTES) this.#now();
    else this.#later ??= setTimeout(() => this.#now(), GATHER_MS);
  }

  /** Tells no more: the run's result says how long the spool has become. */
  end(): void {
    if (this.#later) clearTimeout(this.#later);
    this.#later = null;
  }

  #now(): void {
    this.end();
    this.#told = this.#length;
    this.#tell(this.#length);
  }
}
