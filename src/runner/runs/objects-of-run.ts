import { Engine } from '../../shared/engine/engine.ts';
import { removeObjects, removeOrphans } from '../../shared/engine/objects.ts';
import type { EngineFacts, EngineObject } from '../../shared/engine/types.ts';

const REMOVE_MS = 20_000;

/** Where the run's containers and networks are written down. */
export interface ObjectRecord {
  /** Throws where it cannot be written. */
  engineObject(object: EngineObject): void;
  engineObjectGone(object: EngineObject): void;
}

/** Containers and networks of one run: the worker announces each before it makes it, the main thread removes it. */
export class ObjectsOfRun {
  readonly #engine: Engine | null;
  readonly #marker: string;
  readonly #record: ObjectRecord;
  readonly #objects = new Map<string, EngineObject>();

  constructor(engine: EngineFacts | null, marker: string, record: ObjectRecord) {
    this.#engine = engine && new Engine(engine);
    this.#marker = marker;
    this.#record = record;
  }

  /** Throws where it cannot be written down: then it must not be made. */
  announced(object: EngineObject): void {
    this.#record.engineObject(object);
    this.#objects.set(`${object.kind} ${object.name}`, object);
  }

  get none(): boolean {
    return this.#objects.size === 0;
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
    for (const object of left) {
      this.#objects.delete(`${object.kind} ${object.name}`);
      this.#record.engineObjectGone(object);
    }
    return null;
  }

  get #left(): EngineObject[] {
    return [...this.#objects.values()];
  }
}
