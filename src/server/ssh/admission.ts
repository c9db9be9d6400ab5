/** Counts connections that have not been welcomed yet, in all and by address. */
export class Admission {
  readonly #most: number;
  readonly #mostOfAddress: number;
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  constructor(limits: { unwelcomed: number; unwelcomedOfAddress: number }) {
    this.#most = limits.unwelcomed;
    this.#mostOfAddress = limits.unwelcomedOfAddress;
  }

  /** A function that gives the place back, any number of times; null where there is none. */
  enter(address: string): (() => void) | null {
    const ofAddress = this.#byAddress.get(address) ?? 0;
    if (this.#all >= this.#most || ofAddress >= this.#mostOfAddress) return null;
    this.#all++;
    this.#byAddress.set(address, ofAddress + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#all--;
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
    };
  }
}
