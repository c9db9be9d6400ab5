interface RemovalParts {
  /** Null where it is done, else why not. */
  remove(): Promise<string | null>;
  /** Lets the guards of the run go. */
  release(): void;
  /** Moves its tree away, which has its log and its owner record, or keeps it where it was not reported. */
  leave(how: { reported: boolean }): void;
  warn(what: string): void;
}

/**
 * The end of a run that had a container: removed, then the guards are let go, and the tree is left when
 * the run's report has ended too. Until then its owner record says what may still exist.
 */
export class Removal {
  readonly #parts: RemovalParts;
  readonly #ended: Promise<{ reported: boolean }>;
  /** It has been tried once, whether or not it was done. */
  readonly tried: Promise<void>;
  #onEnded = (_how: { reported: boolean }): void => {};
  #onTried = (): void => {};
  #warned = false;

  constructor(parts: RemovalParts) {
    this.#parts = parts;
    this.#ended = new Promise((resolve) => {
      this.#onEnded = resolve;
    });
    this.tried = new Promise((resolve) => {
      this.#onTried = resolve;
    });
  }

  /** Whether or not the server has taken the record. */
  ended(how: { reported: boolean }): void {
    this.#onEnded(how);
  }

  /** Gives whether it is done. May be called again where it is not. */
  async go(): Promise<boolean> {
    const left = await this.#parts.remove();
    if (left === null) this.#parts.release();
    else if (!this.#warned) {
      this.#warned = true;
      this.#parts.warn(`its container stays for now, and its cache in use: ${left}`);
    }
    this.#onTried();
    if (left !== null) return false;
    this.#parts.leave(await this.#ended);
    return true;
  }
}
