import { Engine } from '../../shared/engine/engine.ts';
import { removeObjects, removeOrphans } from '../../shared/engine/objects.ts';
import type { EngineFacts, EngineObject } from '../../shared/engine/types.ts';

const REMOVE_MS = 20_000;

/**
 * Containers and networks of one run, as the worker thread announces them before it makes them. What it
 * did not remove itself is removed by the main thread.
 */
export class ObjectsOfRun {
  readonly #engine: Engine | null;
  readonly #marker: string;
  readonly #objects = new Map<string, EngineObject>();

  constructor(engine: EngineFacts | null, marker: string) {
    this.#engine = engine && new Engine(engine);
    this.#marker = marker;
  }

  announced(object: EngineObject): void {
    this.#objects.set(`${object.kind} ${object.name}`, object);
  }

  gone(object: EngineObject): void {
    this.#objects.delete(`${object.kind} ${object.name}`);
  }

  /** Removes them at once, without waiting: the worker sees its steps end. */
  kill(): void {
    if (this.#engine) void removeObjects(this.#engine, this.#left, { timeoutMs: REMOVE_MS });
  }

  /** Removes what is left; null where nothing is left then, else why. May be called again. */
  async end({ threadDied }: { threadDied: boolean }): Promise<string | null> {
    const left = this.#left;
    if (left.length === 0 || !this.#engine) return null;
    const options = { timeoutMs: REMOVE_MS };
    const removed = await (threadDied
      ? removeOrphans(this.#engine, left, this.#marker, options)
      : removeObjects(this.#engine, left, options));
    if (!removed.ok) return removed.failure.why;
    for (const object of left) this.gone(object);
    return null;
  }

  get #left(): EngineObject[] {
    return [...this.#objects.values()];
  }
}
