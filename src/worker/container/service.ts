import path from 'node:path';
import { startContainer } from '../../shared/engine/containers.ts';
import type { Engine } from '../../shared/engine/engine.ts';
import type { JobContainer } from '../../shared/engine/job-container.ts';
import { type ServiceFacts, serviceFacts } from '../../shared/engine/service-facts.ts';
import type { EngineObject } from '../../shared/engine/types.ts';
import { wholeLine } from '../../shared/errors.ts';
import type { ServiceSpec } from '../../shared/job-spec.ts';
import { containerCgroup } from '../../shared/platform/container-cgroup.ts';
import { type NamelessFile, namelessFile } from '../../shared/platform/nameless-file.ts';
import { isAlive, processStat } from '../../shared/platform/processes.ts';
import { formatBytes } from '../../shared/units.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { imageSource, withImage } from './image.ts';
import { lastLines } from './service-log.ts';

/** One service of a run: its container from when it is made until it is removed. */
export class Service {
  readonly spec: ServiceSpec;
  readonly engine: Engine;
  readonly object: EngineObject;
  readonly #job: JobContainer;
  readonly #log: RunLog;
  /** Its main process, where this host shows it. */
  #process: { pid: number; start: string } | null = null;
  #facts: ServiceFacts | null = null;
  #ended: string | null = null;

  constructor(spec: ServiceSpec, job: JobContainer, engine: Engine, log: RunLog) {
    this.spec = spec;
    this.engine = engine;
    this.#job = job;
    this.#log = log;
    this.object = { kind: 'container', engine: engine.name, name: `${job.name}.${spec.name}` };
  }

  get container(): string {
    return this.object.name;
  }

  /** As it was made. */
  get facts(): ServiceFacts | null {
    return this.#facts;
  }

  /** How it has ended, or null as far as is known. */
  get ended(): string | null {
    return this.#ended;
  }

  /** Pid of its main process on this host; null where that is not to be seen. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** Makes and starts it; the owner record names it already. */
  async start(task: WorkerTask, main: MainThread, network: string): Promise<PartFailure | null> {
    const { name, env, command } = this.spec;
    const { labels, settings } = this.#job;
    // Neither the client's command line nor its environment: see `EngineFacts`.
    const lines = Object.entries(env).map(([variable, value]) => `${variable}=${value}\n`);
    let file: NamelessFile;
    try {
      file = namelessFile(path.join(task.paths.tree, `service-${name}`), lines.join(''));
    } catch (error) {
      const full = (error as NodeJS.ErrnoException).code === 'ENOSPC';
      return { reason: full ? 'disk-full' : 'host', why: wholeLine(error) };
    }
    const spec = {
      name: this.container,
      labels,
      limits: settings.limits,
      user: null,
      mounts: [],
      network,
      aliases: [name],
      command: null,
      envFile: file.path,
      ...(command === null ? {} : { arguments: command }),
    };
    const parts = { task, job: this.#job, engine: this.engine, main, log: this.#log };
    const source = imageSource(parts, { name: this.spec.image });
    const started = await withImage(source, (image) =>
      startContainer(this.engine, { ...spec, image }, { marker: task.marker }),
    ).finally(() => file.close());
    if (!started.ok) return { ...started.failure, why: `service ${name}: ${started.failure.why}` };
    const facts = await serviceFacts(this.engine, this.container);
    if (!facts.ok) return { reason: 'engine', why: `service ${name}: ${facts.failure.why}` };
    if (!facts.value) return { reason: 'service', why: `service ${name} was removed` };
    this.#facts = facts.value;
    const { pid, id } = facts.value;
    const stat = containerCgroup(pid, id) && processStat(pid);
    if (stat) this.#process = { pid, start: stat.start };
    const changed = Object.entries(env).find(([key, value]) => !facts.value?.env.includes(`${key}=${value}`));
    if (!changed) return null;
    const why = `service ${name}: ${this.engine.name} did not take the value of ${changed[0]} as it is`;
    return { reason: 'engine', why };
  }

  /** Whether it runs; where it does not, the log has said how it ended, with its last words. */
  async runs(): Promise<boolean> {
    if (this.#ended !== null) return false;
    if (this.#process) {
      const stat = processStat(this.#process.pid);
      if (stat && stat.start === this.#process.start && isAlive(stat)) return true;
    }
    const facts = await serviceFacts(this.engine, this.container);
    // An engine that is away says nothing of its containers.
    if (!facts.ok || facts.value?.running) return true;
    if (this.#ended !== null) return false; // said meanwhile
    this.#ended = facts.value ? this.#endOf(facts.value) : 'its container was removed';
    this.#log.say(0, `service ${this.spec.name} has ended: ${this.#ended}`);
    if (facts.value) await this.sayLastLines();
    return false;
  }

  async sayLastLines(): Promise<void> {
    const { name } = this.spec;
    const lines = await lastLines(this.engine, this.container);
    const what =
      lines.length > 0 ? `the last of what service ${name} has said:` : `service ${name} has said nothing`;
    this.#log.say(0, [what, ...lines.map((line) => `${name}: ${line}`)].join('\n'));
  }

  #endOf({ exitCode, oomKilled }: ServiceFacts): string {
    if (!oomKilled) return `exit code ${exitCode}`;
    const { memoryBytes } = this.#job.settings.limits;
    return `out of memory: ${memoryBytes === null ? 'the host has no more' : `the limit is ${formatBytes(memoryBytes)}`}`;
  }
}
