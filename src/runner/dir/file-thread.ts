import { Worker } from 'node:worker_threads';
import type { FileAnswer, FileQuestion } from './file-messages.ts';

const IDLE_MS = 30_000;

/**
 * The helper thread outside the pool that walks large trees, so that the main thread does not. Started
 * when first needed, let go when idle; one that dies is started again for the next question.
 */
export class FileThread {
  readonly #file: string;
  #thread: Worker | null = null;
  #nextId = 1;
  readonly #asked = new Map<
    number,
    { resolve: (answer: FileAnswer) => void; reject: (error: Error) => void }
  >();
  #idle: NodeJS.Timeout | null = null;
  #closed = false;

  /** `file` is the built thread. */
  constructor(file: string) {
    this.#file = file;
  }

  /** Deletes a tree; gives `path: why` for what is left of it. */
  async remove(target: string): Promise<readonly string[]> {
    const answer = await this.#ask({ id: this.#nextId++, what: 'remove', path: target });
    if (answer.what === 'failed') return [`${target}: ${answer.why}`];
    return answer.what === 'removed' ? answer.left : [];
  }

  /** Bytes on disk as `du` counts them: blocks, hard links once, no link followed. */
  async measure(target: string): Promise<number> {
    const answer = await this.#ask({ id: this.#nextId++, what: 'measure', path: target });
    if (answer.what === 'failed') throw new Error(`${target} cannot be measured: ${answer.why}`);
    return answer.what === 'measured' ? answer.bytes : 0;
  }

  /** Ends the thread; what was not answered is rejected. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#idle) clearTimeout(this.#idle);
    await this.#thread?.terminate();
  }

  async #ask(question: FileQuestion): Promise<FileAnswer> {
    if (this.#closed) throw new Error('the file thread is closed');
    if (this.#idle) clearTimeout(this.#idle);
    const thread = this.#thread ?? this.#start();
    thread.ref(); // an answer that is awaited keeps the process
    try {
      return await new Promise<FileAnswer>((resolve, reject) => {
        this.#asked.set(question.id, { resolve, reject });
        thread.postMessage(question);
      });
    } finally {
      this.#asked.delete(question.id);
      if (this.#asked.size === 0 && !this.#closed) this.#letGoLater();
    }
  }

  #start(): Worker {
    const thread = new Worker(this.#file, {
      stdout: false,
      stderr: false,
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 },
    });
    thread.on('message', (answer: FileAnswer) => this.#asked.get(answer.id)?.resolve(answer));
    const gone = (error: Error): void => {
      if (this.#thread !== thread) return; // let go when idle: what is asked now is another's
      this.#thread = null;
      for (const { reject } of this.#asked.values()) reject(error);
    };
    thread.on('error', gone);
    thread.on('exit', () => gone(new Error('the file thread ended')));
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  #letGoLater(): void {
    this.#thread?.unref();
    this.#idle = setTimeout(() => {
      const thread = this.#thread;
      this.#thread = null;
      void thread?.terminate();
    }, IDLE_MS);
    this.#idle.unref();
  }
}
