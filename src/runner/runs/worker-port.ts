import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { AgentAccess } from '../../shared/agent/access.ts';
import type { PublishRequest } from '../../shared/agent/result.ts';
import type { EngineObject } from '../../shared/engine/types.ts';
import { oneLine } from '../../shared/errors.ts';
import type { HeldGuard } from '../../shared/lock/types.ts';
import type { FifoPair } from '../../shared/platform/fifos.ts';
import type { FromWorker, GuardMode, Settled, StepStreams, ToWorker } from '../../shared/worker-messages.ts';
import type { Artifact } from './artifact-sender.ts';

export interface PortServices {
  guard(name: string, mode: GuardMode, signal: AbortSignal): Promise<HeldGuard>;
  streams(): Promise<FifoPair>;
  /** The agents' server of this process. Never rejects. */
  agentServer(): Promise<{ ok: true; access: AgentAccess } | { ok: false; why: string }>;
}

export interface PortEvents {
  thread(id: number): void;
  process(pgid: number): void;
  processGone(pgid: number): void;
  /** Throws where it cannot be written down. */
  engineObject(object: EngineObject): void;
  cgroupJoined(): void;
  spooled(bytes: number): void;
  artifact(artifact: Artifact): void;
  /** Never rejects; `signal` aborts when nobody waits for the answer any more. */
  publish(request: PublishRequest, signal: AbortSignal): Promise<Settled>;
}

/** Made once: an error costs what it takes to look at its stack. */
const ENDED = new Error('the run has ended');

/**
 * The main thread's end of a run's port. Holds the guards that the worker asks for: they are the
 * main thread's, so a worker that is terminated in mid-fetch frees nothing until its processes are
 * gone and `releaseGuards` is called.
 */
export class WorkerPort {
  readonly #port: MessagePort;
  readonly #services: PortServices;
  readonly #events: PortEvents;
  readonly #held = new Map<number, HeldGuard>();
  readonly #abort = new AbortController();
  readonly #closed = new Promise<'closed'>((resolve) => {
    this.#abort.signal.addEventListener('abort', () => resolve('closed'));
  });
  /** The last ones: a worker asks for its next step's when it is done with one. */
  #given: FifoPair | null = null;
  readonly #asking = new Set<Promise<void>>();

  constructor(port: MessagePort, services: PortServices, events: PortEvents) {
    this.#port = port;
    this.#services = services;
    this.#events = events;
    port.on('message', (message: FromWorker) => this.#receive(message));
  }

  /** Of a step, to be given to the worker. */
  async streams(): Promise<StepStreams> {
    const pair = await this.#services.streams();
    this.#streamsDone(false); // of a step before, where its end is not known
    this.#given = pair;
    const { stdoutRead, stdoutWrite, stderrRead, stderrWrite } = pair;
    return { stdoutRead, stdoutWrite, stderrRead, stderrWrite };
  }

  /** When nobody uses them any more. */
  takeBackStreams(how: { threadDied: boolean }): void {
    if (how.threadDied) this.#given?.closeLeft();
    this.#streamsDone(false);
  }

  cancel(reason: 'cancelled' | 'timeout' | 'interrupted', why: string): void {
    this.#send({ type: 'cancel', reason, why });
  }

  /**
   * Ends waiting requests and the port; guards stay held. The task's result comes on another port
   * and may overtake what was posted here before it, so that is taken first.
   */
  async close(): Promise<void> {
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port)) {
      this.#receive(next.message as FromWorker);
    }
    this.#abort.abort(ENDED);
    this.#port.close();
    await Promise.all(this.#asking);
  }

  /** Lets all guards go: only once the run's processes are gone. */
  releaseGuards(): void {
    for (const guard of this.#held.values()) guard.release();
    this.#held.clear();
  }

  #send(message: ToWorker): void {
    this.#port.postMessage(message);
  }

  #receive(message: FromWorker): void {
    switch (message.type) {
      case 'thread':
        return this.#events.thread(message.id);
      case 'guard':
        return this.#track(this.#grant(message.id, message.name, message.mode));
      case 'guard-done':
        this.#held.get(message.id)?.release();
        this.#held.delete(message.id);
        return;
      case 'streams':
        return this.#track(this.#giveStreams(message.id));
      case 'process':
        return this.#events.process(message.pgid);
      case 'process-gone':
        if (message.drained !== undefined) this.#streamsDone(message.drained);
        return this.#events.processGone(message.pgid);
      case 'engine-object':
        return this.#note(message.id, message.object);
      case 'agent-server':
        return this.#track(this.#giveAgentServer(message.id));
      case 'cgroup-joined':
        return this.#events.cgroupJoined();
      case 'spooled':
        return this.#events.spooled(message.bytes);
      case 'artifact':
        return this.#events.artifact(message);
      case 'publish':
        return this.#track(this.#publish(message.id, message.request));
      default:
        return message satisfies never;
    }
  }

  #note(id: number, object: EngineObject): void {
    try {
      this.#events.engineObject(object);
      this.#send({ type: 'noted', id });
    } catch (error) {
      this.#send({ type: 'not-noted', id, why: oneLine(error) });
    }
  }

  #streamsDone(drained: boolean): void {
    this.#given?.done(drained);
    this.#given = null;
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#asking.delete(tracked));
    this.#asking.add(tracked);
  }

  async #grant(id: number, name: string, mode: GuardMode): Promise<void> {
    try {
      this.#held.set(id, await this.#services.guard(name, mode, this.#abort.signal));
      this.#send({ type: 'granted', id });
    } catch (error) {
      this.#send({ type: 'denied', id, why: oneLine(error) });
    }
  }

  async #publish(id: number, request: PublishRequest): Promise<void> {
    const published = await this.#events.publish(request, this.#abort.signal);
    this.#send({ type: 'published', id, published });
  }

  async #giveAgentServer(id: number): Promise<void> {
    const answer = await Promise.race([this.#services.agentServer(), this.#closed]);
    if (answer === 'closed') return; // whoever asked is gone, and a start takes its time
    if (answer.ok) this.#send({ type: 'agent-server', id, access: answer.access });
    else this.#send({ type: 'agent-server-failed', id, why: answer.why });
  }

  async #giveStreams(id: number): Promise<void> {
    try {
      const streams = await this.streams();
      this.#send({ type: 'streams', id, streams });
    } catch (error) {
      this.#send({ type: 'streams-failed', id, why: oneLine(error) });
    }
  }
}
