interface RemovalParts {
  /** Null where it is done, else why not. */
  remove(): Promise<string | null>;
  /** Lets the guards of the run go. */
  release(): void;
  /** Moves its tree away, which has its log and its owner record. */
  dispose(): void;
  warn(what: string): void;
}

/**
 * The end of a run that had a container: removed, then the guards are let go, and the tree goes when the
 * run has been reported too. Until then its owner record says what may still exist.
 */
export class Removal {
  readonly #parts: RemovalParts;
  readonly #reported: Promise<void>;
  /** It has been tried once, whether or not it was done. */
  readonly tried: Promise<void>;
  #onReported = (): void => {};
  #onTried = (): void => {};
  #warned = false;

  constructor(parts: RemovalParts) {
    this.#parts = parts;
    this.#reported = new Promise((resolve) => {
      this.#onReported = resolve;
    });
    this.tried = new Promise((resolve) => {
      this.#onTried = resolve;
    });
  }

  reported(): void {
    this.#onReported();
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
    await this.#reported;
    this.#parts.dispose();
    return true;
  }
}
