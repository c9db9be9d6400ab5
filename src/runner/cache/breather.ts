import { setImmediate } from 'node:timers/promises';

/** Well under what a heartbeat or a log line would notice. */
const TURN_MS = 8;

/** Lets a loop of many small synchronous calls on the main thread give way to other work in between. */
export class Breather {
  #since = performance.now();

  async breathe(): Promise<void> {
    if (performance.now() - this.#since < TURN_MS) return;
    await setImmediate();
    this.#since = performance.now();
  }
}
