import { type Capacity, least, minus, plus } from '../../shared/capacity.ts';

/**
 * What is free for a request, as long as it waits. It says what was free when it was sent; since then other
 * slots of its process have been given jobs, or have ended theirs.
 */
export class FreeCapacity {
  readonly #said: Capacity;
  readonly #total: Capacity;
  #heldThen: Capacity | null = null;

  /** `total`: of the process. */
  constructor(said: Capacity, total: Capacity) {
    this.#said = said;
    this.#total = total;
  }

  /**
   * `held`: by the jobs of the process as the server knows them. The runner may hold more, as of a job whose
   * lease it lost and that is still ending: what it said stands, changed by what the server saw since. And it
   * may not know yet of a job that is on its way to another slot: no more is free than its total leaves.
   */
  given(held: Capacity): Capacity {
    this.#heldThen ??= held;
    return least(minus(plus(this.#said, this.#heldThen), held), minus(this.#total, held));
  }
}
