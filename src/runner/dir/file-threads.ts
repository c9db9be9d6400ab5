import { Worker } from 'node:worker_threads';
import { type FileAnswer, type FileQuestion, SHARED } from './file-messages.ts';
import { type Measured, sumOf } from './measure-tree.ts';

const IDLE_MS = 30_000;
/** A second one makes a large tree cheap to wait for; more would take from the jobs. */
const MOST_THREADS = 2;

/** To wake a thread costs as much as to delete the small tree of a short job. */
const TOGETHER_MS = 50;
const MOST_TOGETHER = 32;

interface Leaving {
  readonly path: string;
  readonly resolve: (left: readonly string[]) => void;
  readonly reject: (error: Error) => void;
}

interface Work {
  readonly question: FileQuestion;
  answered(answer: FileAnswer): void;
  failed(error: Error): void;
}

/**
 * The helper threads outside the pool that walk large trees, so that the main thread does not. Started
 * when first needed, let go when idle; one that dies is started again for the next question. What is
 * measured is waited for, so it goes before what is deleted, and a thread that measures a large tree
 * gives some of it to one that has nothing to do.
 */
export class FileThreads {
  readonly #file: string;
  readonly #threads = new Set<Thread>();
  readonly #waiting = { measure: new Queue<Work>(), remove: new Queue<Work>() };
  readonly #shared = new Int32Array(new SharedArrayBuffer(8));
  /** Trees that are going to be asked for together. */
  readonly #leaving: Leaving[] = [];
  #soon: NodeJS.Timeout | null = null;
  #idle: NodeJS.Timeout | null = null;
  #closed = false;

  /** `file` is the built thread. */
  constructor(file: string) {
    this.#file = file;
  }

  /** Entries looked at and deleted so far, of all trees; for who shows that it goes on. */
  get entries(): number {
    return Atomics.load(this.#shared, SHARED.entries) >>> 0;
  }

  /** Deletes a tree; gives `path: why` for what is left of it. Rejects where the thread dies or is closed. */
  async remove(target: string): Promise<readonly string[]> {
    if (this.#closed) throw closed();
    return await new Promise((resolve, reject) => {
      this.#leaving.push({ path: target, resolve, reject });
      if (this.#leaving.length >= MOST_TOGETHER) this.#removeTogether();
      else this.#soon ??= setTimeout(() => this.#removeTogether(), TOGETHER_MS);
    });
  }

  /** Bytes on disk as `du` counts them: blocks, hard links once, no link followed. */
  async measure(target: string): Promise<number> {
    return await new Promise((resolve, reject) => {
      const parts: Measured[] = [];
      let asked = 0;
      const ask = (question: FileQuestion): void => {
        asked += 1;
        this.#add({ question, answered, failed: reject });
      };
      const answered = (answer: FileAnswer): void => {
        if (answer.what === 'given') return ask({ what: 'measure-parts', parts: answer.parts });
        if (answer.what === 'failed') return reject(new Error(`${target} cannot be measured: ${answer.why}`));
        if (answer.what !== 'measured') return;
        parts.push(answer);
        if (parts.length === asked) resolve(sumOf(parts));
      };
      ask({ what: 'measure', path: target });
    });
  }

  /** Ends the threads; what was not answered is rejected. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#idle) clearTimeout(this.#idle);
    if (this.#soon) clearTimeout(this.#soon);
    for (const { reject } of this.#leaving.splice(0)) reject(closed());
    await Promise.all([...this.#threads].map((thread) => thread.end()));
    for (const work of [...this.#waiting.measure.take(), ...this.#waiting.remove.take()])
      work.failed(closed());
  }

  #removeTogether(): void {
    if (this.#soon) clearTimeout(this.#soon);
    this.#soon = null;
    const trees = this.#leaving.splice(0);
    const failed = (error: Error): void => {
      for (const { reject } of trees) reject(error);
    };
    const answered = (answer: FileAnswer): void => {
      if (answer.what === 'failed') failed(new Error(answer.why));
      else if (answer.what === 'removed')
        for (const [at, { resolve }] of trees.entries()) resolve(answer.left[at] ?? []);
    };
    this.#add({ question: { what: 'remove', paths: trees.map(({ path }) => path) }, answered, failed });
  }

  #add(work: Work): void {
    if (this.#closed) return work.failed(closed());
    this.#waiting[work.question.what === 'remove' ? 'remove' : 'measure'].push(work);
    this.#dispatch();
  }

  #dispatch(): void {
    if (this.#closed) return;
    while (this.#busy < MOST_THREADS) {
      const work = this.#waiting.measure.shift() ?? this.#waiting.remove.shift();
      if (!work) break;
      (this.#free() ?? this.#start()).ask(work);
    }
    Atomics.store(this.#shared, SHARED.idleThreads, MOST_THREADS - this.#busy);
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
    if (this.#busy === 0 && this.#threads.size > 0) this.#letGoLater();
  }

  get #busy(): number {
    return [...this.#threads].filter((thread) => thread.isBusy).length;
  }

  #free(): Thread | undefined {
    return [...this.#threads].find((thread) => !thread.isBusy);
  }

  #start(): Thread {
    const thread = new Thread(this.#file, this.#shared, {
      done: () => this.#dispatch(),
      gone: () => {
        this.#threads.delete(thread);
        this.#dispatch();
      },
    });
    this.#threads.add(thread);
    return thread;
  }

  #letGoLater(): void {
    this.#idle = setTimeout(() => {
      const threads = [...this.#threads];
      this.#threads.clear();
      for (const thread of threads) void thread.end();
    }, IDLE_MS);
    this.#idle.unref();
  }
}

/** One of them, with what it is doing. */
class Thread {
  readonly #worker: Worker;
  #work: Work | null = null;

  constructor(file: string, shared: Int32Array, on: { done(): void; gone(): void }) {
    this.#worker = new Worker(file, {
      workerData: shared,
      stdout: false,
      stderr: false,
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 },
    });
    this.#worker.unref();
    this.#worker.on('message', (answer: FileAnswer) => {
      const work = this.#work;
      if (answer.what !== 'given') {
        this.#work = null;
        this.#worker.unref();
      }
      work?.answered(answer);
      if (answer.what !== 'given') on.done();
    });
    let why = new Error('a file thread ended');
    this.#worker.on('error', (error) => (why = error));
    this.#worker.on('exit', () => {
      this.#work?.failed(why);
      this.#work = null;
      on.gone();
    });
  }

  get isBusy(): boolean {
    return this.#work !== null;
  }

  ask(work: Work): void {
    this.#work = work;
    this.#worker.ref(); // an answer that is awaited keeps the process
    this.#worker.postMessage(work.question);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** First in, first out, at a cost that does not grow with its length. */
class Queue<T> {
  #items: T[] = [];
  #at = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#at];
    if (item === undefined) return undefined;
    this.#at += 1;
    if (this.#at > 1_000) this.#items = this.take();
    return item;
  }

  /** All that is left, and empties it. */
  take(): T[] {
    const left = this.#items.slice(this.#at);
    this.#items = [];
    this.#at = 0;
    return left;
  }
}

function closed(): Error {
  return new Error('the file threads are closed');
}
