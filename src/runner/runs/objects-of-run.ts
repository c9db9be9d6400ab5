import { setTimeout as delay } from 'node:timers/promises';
import { CLIENT_MARKER_ENV, Engine } from '../../shared/engine/engine.ts';
import { removeObjects } from '../../shared/engine/objects.ts';
import type { EngineFacts, EngineObject } from '../../shared/engine/types.ts';
import { processesWithEnv, signalProcess } from '../../shared/platform/processes.ts';

/** How long a client may take to finish what it is making, once nobody waits for it any more. */
const CLIENT_MS = 15_000;
const REMOVE_MS = 20_000;

/**
 * Containers and networks of one run, as the worker thread announces them before it makes them. What it
 * did not remove itself is removed by the main thread.
 */
export class ObjectsOfRun {
  readonly #engine: EngineFacts | null;
  readonly #marker: string;
  readonly #objects = new Map<string, EngineObject>();

  constructor(engine: EngineFacts | null, marker: string) {
    this.#engine = engine;
    this.#marker = marker;
  }

  announced(object: EngineObject): void {
    this.#objects.set(`${object.kind} ${object.name}`, object);
  }

  gone(object: EngineObject): void {
    this.#objects.delete(`${object.kind} ${object.name}`);
  }

  /** Ends the containers at once, without waiting: the worker sees its steps end. */
  kill(): void {
    void this.#remove();
  }

  /**
   * Removes what is left; null where nothing is left then, else why. `threadDied`: its clients may still
   * be making something, and what is made after we looked would stay.
   */
  async end({ threadDied }: { threadDied: boolean }): Promise<string | null> {
    if (this.#objects.size === 0) return null;
    if (threadDied) await clientsEnded(this.#marker);
    return await this.#remove();
  }

  async #remove(): Promise<string | null> {
    if (!this.#engine) return null;
    const objects = [...this.#objects.values()];
    const removed = await removeObjects(new Engine(this.#engine), objects, { timeoutMs: REMOVE_MS });
    if (!removed.ok) return removed.failure.why;
    for (const object of objects) this.gone(object);
    return null;
  }
}

/** Waits for the engine's clients that work for a job, and ends those that take too long. */
export async function clientsEnded(marker: string): Promise<void> {
  const deadline = performance.now() + CLIENT_MS;
  for (;;) {
    const clients = processesWithEnv(CLIENT_MARKER_ENV, marker);
    if (clients.length === 0) return;
    if (performance.now() > deadline) {
      for (const { pid } of clients) signalProcess(pid, 'SIGKILL');
      return;
    }
    await delay(20);
  }
}
