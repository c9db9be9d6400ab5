import { setTimeout as delay } from 'node:timers/promises';
import { Engine } from '../../shared/engine/engine.ts';
import type { JobContainer } from '../../shared/engine/job-container.ts';
import { createNetwork, isOutOfSubnets } from '../../shared/engine/networks.ts';
import type { EngineObject } from '../../shared/engine/types.ts';
import { formatDuration } from '../../shared/units.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { whenReady } from './readiness.ts';
import { Service } from './service.ts';

/** How long to wait for a subnet where the engine has given all of them away. */
const SUBNET_MS = 600_000;
const SUBNET_AGAIN_MS = 2_000;
/** How often it is looked whether they still run. */
const WATCH_MS = 250;
/** The same where the engine has to be asked. */
const WATCH_ASKING_MS = 3_000;

/** The services of one run and the network that they share with its container. */
export class Services {
  readonly network: EngineObject;
  readonly #task: WorkerTask;
  readonly #job: JobContainer;
  readonly #engine: Engine;
  readonly #main: MainThread;
  readonly #log: RunLog;
  readonly #services: readonly Service[];
  readonly #givingUp = new AbortController();
  #failure: PartFailure | null = null;
  #watching: NodeJS.Timeout | undefined;

  constructor(task: WorkerTask, job: JobContainer, main: MainThread, log: RunLog) {
    this.#task = task;
    this.#job = job;
    this.#main = main;
    this.#log = log;
    this.#engine = new Engine(job.engine);
    this.network = { kind: 'network', engine: this.#engine.name, name: job.name };
    this.#services = task.spec.services.map((spec) => new Service(spec, job, this.#engine, log));
  }

  /** Has the owner record name everything, then makes the network. Null where that went well. */
  async makeNetwork(): Promise<PartFailure | null> {
    const objects = [this.network, ...this.#services.map(({ object }) => object)];
    const unnoted = await Promise.all(objects.map((object) => this.#main.noteObject(object)));
    const why = unnoted.find((reason) => reason !== null);
    if (why) return { reason: 'host', why };
    const deadline = performance.now() + SUBNET_MS;
    for (let said = false; !this.#main.stopped; said = true) {
      const options = { marker: this.#task.marker };
      const made = await createNetwork(this.#engine, this.network.name, this.#job.labels, options);
      if (made.ok) return null;
      if (!isOutOfSubnets(made.failure.why) || performance.now() > deadline) {
        return { reason: 'engine', why: `network of the job's services: ${made.failure.why}` };
      }
      if (!said)
        this.#log.say(0, "waiting for other jobs' networks to go: the engine has no address pool left");
      await delay(SUBNET_AGAIN_MS, undefined, { signal: this.#main.stopping }).catch(() => {});
    }
    return null;
  }

  /** Starts all of them and waits until they are ready. Null where they are, or where the run was stopped. */
  async start(): Promise<PartFailure | null> {
    const signal = AbortSignal.any([this.#main.stopping, this.#givingUp.signal]);
    const ready = async (service: Service): Promise<void> => {
      const failure = await this.#ready(service, signal);
      if (failure) this.giveUp(failure);
    };
    await Promise.all(this.#services.map(ready));
    // While the slowest was waited for, another may have gone.
    if (!signal.aborted) for (const line of await this.ended()) this.giveUp({ reason: 'service', why: line });
    if (!signal.aborted) this.#watch();
    return this.#failure;
  }

  /** Nobody waits for them any more: something else of the job has failed, or one of them. */
  giveUp(failure: PartFailure): void {
    this.#failure ??= failure;
    this.#givingUp.abort();
  }

  /** A line for each that has ended, for the outcome of a run that failed. */
  async ended(): Promise<string[]> {
    await Promise.all(this.#services.map((service) => service.runs()));
    return this.#services.flatMap(({ ended, spec }) =>
      ended === null ? [] : [`service ${spec.name} had ended: ${ended}`],
    );
  }

  stopWatching(): void {
    clearTimeout(this.#watching);
    this.#watching = undefined;
  }

  async #ready(service: Service, signal: AbortSignal): Promise<PartFailure | null> {
    const { name, image } = service.spec;
    const { serviceTimeoutMs } = this.#job.settings;
    this.#log.say(0, `service ${name} of image ${image}`);
    const failure = await service.start(this.#task, this.#main, this.network.name);
    if (failure) return failure;
    const since = performance.now();
    const missing = await whenReady(service, since + serviceTimeoutMs, signal);
    if (signal.aborted) return null;
    const seconds = ((performance.now() - since) / 1_000).toFixed(1);
    if (missing === null) {
      this.#log.say(0, `service ${name} is ready after ${seconds} s`);
      return null;
    }
    // One that has ended has said its last lines already.
    if (service.ended === null) await service.sayLastLines();
    const bound = service.ended === null ? ` in ${formatDuration(serviceTimeoutMs)} (--service-timeout)` : '';
    return { reason: 'service', why: `service ${name} was not ready${bound}: ${missing}` };
  }

  #watch(): void {
    const seen = this.#services.every(({ pid }) => pid !== null);
    const look = async (): Promise<void> => {
      await Promise.all(this.#services.map((service) => service.runs()));
      if (this.#watching) next();
    };
    const next = (): void => {
      this.#watching = setTimeout(() => void look(), seen ? WATCH_MS : WATCH_ASKING_MS);
    };
    next();
  }
}
