import type { EngineCallOptions } from '../../shared/engine/engine.ts';
import type { ImageParts } from './image-source.ts';

const KEPT_LINES = 60;

/** The output of an engine's client on its way into the log, before the first step. */
export class ClientOutput {
  readonly #stdout;
  readonly #stderr;
  readonly #log;
  #tail = '';

  constructor({ log }: Pick<ImageParts, 'log'>) {
    this.#log = log;
    this.#stdout = log.stream(0, 'o');
    this.#stderr = log.stream(0, 'e');
  }

  push(bytes: Buffer, from: 'stdout' | 'stderr'): void {
    (from === 'stdout' ? this.#stdout : this.#stderr).push(bytes);
    this.#log.flushSoon();
    this.#tail = (this.#tail + bytes.toString('utf8')).slice(-16_384);
  }

  /** Ends it; gives its last lines. */
  end(): string {
    this.#stdout.end();
    this.#stderr.end();
    return this.#tail.split('\n').slice(-KEPT_LINES).join('\n');
  }
}

/** Of a client that works for this run alone and ends with it. */
export function clientOptions(
  { task, main }: ImageParts,
  output: ClientOutput,
  what: string,
): EngineCallOptions {
  return {
    // The job's own bound comes first.
    timeoutMs: Math.min(task.spec.timeoutMs + 60_000, 2 ** 31 - 1),
    signal: main.stopping,
    endWith: task.marker,
    onOutput: (bytes, from) => output.push(bytes, from),
    onSpawn: (pgid) => main.tell({ type: 'process', pgid, what }),
    onGone: (pgid) => main.tell({ type: 'process-gone', pgid }),
  };
}
