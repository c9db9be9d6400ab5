import { isFinal } from '../../shared/outcome.ts';
import type { LogFiles } from '../logs/log-files.ts';
import type { LeaseQueue } from '../queue/queue.ts';
import type { Run, Store } from '../store/store.ts';

const CHUNK_BYTES = 64 * 1024;

export interface LogSource {
  readonly store: { readonly runs: Pick<Store['runs'], 'get'> };
  readonly queue: Pick<LeaseQueue, 'onChange'>;
  readonly logs: Pick<LogFiles, 'read' | 'onGrowth'>;
}

/** Whether nothing more can come to the log of this attempt. One that has not begun may still. */
export function attemptOver(run: Pick<Run, 'state' | 'attempt'>, attempt: number): boolean {
  if (isFinal(run.state) || run.attempt > attempt) return true;
  return run.attempt === attempt && run.state !== 'running';
}

/** Breaks the reader's connection; `error` is null where that is nobody's fault. */
export type BreakOff = (error: unknown) => void;

/** Woken by events between two looks as well: what happens while nobody waits is not missed. */
class Wakeable {
  #dirty = false;
  #wake: (() => void) | null = null;

  readonly signal = (): void => {
    this.#dirty = true;
    this.#wake?.();
  };

  async wait(): Promise<void> {
    if (!this.#dirty) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = null;
    this.#dirty = false;
  }
}

/**
 * The bytes of one attempt's log from an offset, one chunk for each time the reader asks, so that a
 * slow reader costs one chunk and no more. Ends at `endBytes`, or, where that is null, when the attempt is
 * over and everything was sent. An ordinary end thus means completeness, so where a read fails or
 * `closing` aborts first, `breakOff` is called and must break the reader's connection.
 */
export function logStream(
  source: LogSource,
  at: { run: number; attempt: number; offset: number; endBytes: number | null },
  options: { closing: AbortSignal; breakOff: BreakOff },
): ReadableStream<Uint8Array> {
  const { run, attempt, endBytes } = at;
  let offset = at.offset;
  const wake = new Wakeable();
  let cancelled = false;
  const releasers: (() => void)[] = [];
  const release = () => {
    cancelled = true;
    for (const end of releasers.splice(0)) end();
    wake.signal();
  };

  /** At the first pull: a stream that nobody reads, as after HEAD, must hold nothing. */
  function subscribe(): void {
    if (endBytes !== null || releasers.length > 0 || cancelled) return;
    releasers.push(source.logs.onGrowth(run, attempt, wake.signal));
    releasers.push(
      source.queue.onChange((changed) => {
        if (changed === run) wake.signal();
      }),
    );
    options.closing.addEventListener('abort', wake.signal, { once: true });
    releasers.push(() => options.closing.removeEventListener('abort', wake.signal));
  }

  async function read(): Promise<Buffer> {
    const most = endBytes === null ? CHUNK_BYTES : Math.min(CHUNK_BYTES, endBytes - offset);
    return most > 0 ? source.logs.read(run, attempt, offset, most) : Buffer.alloc(0);
  }

  async function next(): Promise<Buffer | null> {
    for (;;) {
      const bytes = await read();
      if (bytes.length > 0) return bytes;
      if (endBytes !== null || cancelled) return null;
      if (options.closing.aborted) {
        options.breakOff(null);
        return null;
      }
      const now = await source.store.runs.get(run);
      if (now === null || attemptOver(now, attempt)) {
        // what came between the read and the look at the run
        const rest = await read();
        return rest.length > 0 ? rest : null;
      }
      await wake.wait();
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        subscribe();
        try {
          const bytes = await next();
          if (bytes !== null && !cancelled) {
            offset += bytes.length;
            controller.enqueue(bytes);
            return;
          }
        } catch (error) {
          options.breakOff(error);
        }
        const wasCancelled = cancelled;
        release();
        if (!wasCancelled) controller.close();
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  );
}
