import { closeSync } from 'node:fs';
import type { MessagePort } from 'node:worker_threads';
import type { AgentAccess } from '../shared/agent/access.ts';
import type { PublishRequest } from '../shared/agent/result.ts';
import type { EngineObject } from '../shared/engine/types.ts';
import type { FromWorker, GuardMode, Settled, StepStreams, ToWorker } from '../shared/worker-messages.ts';

export interface Stop {
  /**
   * `disk-full` and `host`: the log cannot be written, and a step that nobody can read is not let run.
   * `lost`: what has started a step was killed, and with it the step.
   */
  readonly reason: 'cancelled' | 'timeout' | 'interrupted' | 'disk-full' | 'host' | 'lost';
  readonly why: string;
}

type Answer = Exclude<ToWorker, { type: 'cancel' }>;

/** The worker thread's end of a run's port: what it asks of the main thread, and what it is told. */
export class MainThread {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #stopping = new AbortController();
  readonly #whenStopped: Promise<'stopped'>;
  #streams: StepStreams | null;
  #stop: Stop | null = null;
  #nextId = 1;

  /** `streams`: of the first step, where they came with the run. */
  constructor(port: MessagePort, streams: StepStreams | null) {
    this.#port = port;
    this.#streams = streams;
    this.#whenStopped = new Promise((resolve) => {
      this.#stopping.signal.addEventListener('abort', () => resolve('stopped'));
    });
    port.on('message', (message: ToWorker) => {
      if (message.type === 'cancel') this.stop({ reason: message.reason, why: message.why });
      else this.#waiting.get(message.id)?.(message);
    });
  }

  /** Aborts when the run is to end early. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  get stopped(): Stop | null {
    return this.#stop;
  }

  /** The first reason counts. */
  stop(stop: Stop): void {
    if (this.#stop) return;
    this.#stop = stop;
    this.#stopping.abort();
  }

  tell(message: FromWorker): void {
    this.#port.postMessage(message);
  }

  /**
   * Waits for a guard; gives the function that lets it go, or why it cannot be had. A run that is
   * stopped waits no longer; what is granted after all is let go at once.
   */
  async guard(
    name: string,
    mode: GuardMode,
  ): Promise<{ ok: true; done: () => void } | { ok: false; why: string }> {
    const id = this.#nextId++;
    const letGo = (): void => this.tell({ type: 'guard-done', id });
    const asked = this.#ask(id, { type: 'guard', id, name, mode });
    const answer = await Promise.race([asked, this.#whenStopped]);
    if (answer === 'stopped') {
      void asked.then((late) => late.type === 'granted' && letGo());
      return { ok: false, why: 'the run was stopped while it waited for its turn' };
    }
    if (answer.type === 'granted') return { ok: true, done: letGo };
    return { ok: false, why: answer.type === 'denied' ? answer.why : 'no guard' };
  }

  /** The caller's from then on. */
  async streams(): Promise<{ ok: true; fds: StepStreams } | { ok: false; why: string }> {
    const ready = this.#streams;
    this.#streams = null;
    if (ready) return { ok: true, fds: ready };
    const id = this.#nextId++;
    const answer = await this.#ask(id, { type: 'streams', id });
    if (answer.type === 'streams') return { ok: true, fds: answer.streams };
    return { ok: false, why: answer.type === 'streams-failed' ? answer.why : 'no streams' };
  }

  /** The agents' server of this runner process, as it is now: one that has ended is started again. */
  async agentServer(): Promise<{ ok: true; access: AgentAccess } | { ok: false; why: string }> {
    const id = this.#nextId++;
    const answer = await Promise.race([this.#ask(id, { type: 'agent-server', id }), this.#whenStopped]);
    if (answer === 'stopped') return { ok: false, why: 'the run was stopped' };
    if (answer.type === 'agent-server') return { ok: true, access: answer.access };
    return { ok: false, why: answer.type === 'agent-server-failed' ? answer.why : 'no server' };
  }

  /**
   * Has the server push the change that was told as an artifact before; waits for what becomes of it. Null
   * where the run is stopped meanwhile: then it may have been pushed or not.
   */
  async publish(request: PublishRequest): Promise<Settled | null> {
    const id = this.#nextId++;
    const answer = await Promise.race([this.#ask(id, { type: 'publish', id, request }), this.#whenStopped]);
    if (answer === 'stopped') return null;
    return answer.type === 'published' ? answer.published : { state: 'failed', why: 'no answer' };
  }

  /** To be called before it is made, so that whoever ends this run knows of it. Null, or why not. */
  async noteObject(object: EngineObject): Promise<string | null> {
    const id = this.#nextId++;
    const answer = await this.#ask(id, { type: 'engine-object', id, object });
    return answer.type === 'noted' ? null : answer.type === 'not-noted' ? answer.why : 'not noted';
  }

  /** Ends the port, so that the thread may be idle again. */
  close(): void {
    const unused = this.#streams;
    this.#streams = null;
    if (unused) for (const fd of Object.values(unused)) closeSync(fd);
    this.#port.close();
  }

  async #ask(id: number, message: FromWorker): Promise<Answer> {
    const answer = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.tell(message);
    const got = await answer;
    this.#waiting.delete(id);
    return got;
  }
}
