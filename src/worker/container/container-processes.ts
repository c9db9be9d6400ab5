import { setTimeout as delay } from 'node:timers/promises';
import type { PlacedProcesses } from '../steps/place.ts';
import type { RunContainer } from './container.ts';

const STARTING_MS = 10_000;
const GONE_MS = 10_000;
/** After a KILL inside: how long the client may take to notice. */
const CLIENT_MS = 5_000;

/**
 * The processes of one step in a container. The steps of a run go one after the other, so all that runs
 * there beside the main process is the step's, whatever group or session it has gone to.
 */
export class ContainerProcesses implements PlacedProcesses {
  readonly #container: RunContainer;
  readonly #endClient: () => void;
  #clientEnded = false;
  #outlived = false;

  constructor(container: RunContainer, endClient: () => void) {
    this.#container = container;
    this.#endClient = endClient;
  }

  /** The step's own process was still there when its client had ended. */
  get outlivedClient(): boolean {
    return this.#outlived;
  }

  terminate(): void {
    void this.#terminate();
  }

  kill(): void {
    void this.#kill();
  }

  async groupEnded(giveUp: Promise<void>): Promise<void> {
    const gaveUp = giveUp.then(() => true);
    for (let waitMs = 20; ; waitMs = Math.min(200, waitMs * 2)) {
      const left = await this.#container.processes();
      // Where it cannot be seen from here, what ignores the signal has the grace to the end.
      if (left !== null && left.length === 0) return;
      if (await Promise.race([gaveUp, delay(waitMs, false)])) return;
    }
  }

  async endLeftovers(): Promise<string[]> {
    this.#clientEnded = true;
    const left = await this.#container.processes();
    if (left !== null && left.length === 0) return [];
    this.#outlived = (await this.#container.startedByEngine()).length > 0;
    await this.#kill();
    const deadline = performance.now() + GONE_MS;
    for (let waitMs = 5; performance.now() < deadline; waitMs = Math.min(100, waitMs * 2)) {
      const still = await this.#container.processes();
      if (still === null || still.length === 0) return [];
      await delay(waitMs);
    }
    await this.#container.kill();
    return ['the container was ended: processes of this step withstand KILL'];
  }

  /** A client takes a moment to have its step started: until then there is nobody to hear it. */
  async #terminate(): Promise<void> {
    const deadline = performance.now() + STARTING_MS;
    while (!this.#clientEnded && performance.now() < deadline) {
      const running = await this.#container.processes();
      if (running === null || running.length > 0) break;
      await delay(50);
    }
    await this.#container.signalAll('TERM');
  }

  async #kill(): Promise<void> {
    // Where no further process may be started in it, it goes as a whole.
    if (!(await this.#container.signalAll('KILL'))) await this.#container.kill();
    setTimeout(this.#endClient, CLIENT_MS).unref();
  }
}
