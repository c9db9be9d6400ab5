import { chmodSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import {
  type ContainerState,
  containerState,
  execScript,
  removeContainers,
  startContainer,
} from '../../shared/engine/containers.ts';
import { Engine } from '../../shared/engine/engine.ts';
import { INSIDE, type JobContainer, type Mount } from '../../shared/engine/job-container.ts';
import type { EngineFailure, EngineObject, EngineReply } from '../../shared/engine/types.ts';
import {
  type ContainerCgroup,
  containerCgroup,
  containerProcesses,
  oomKills,
} from '../../shared/platform/container-cgroup.ts';
import type { ProcessStat } from '../../shared/platform/processes.ts';
import type { JobPaths, WorkerTask } from '../../shared/worker-messages.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { IDLE_COMMAND, MAIN_PROCESS, signalAllScript } from './inside.ts';

const SIGNAL_MS = 15_000;

/** The container of one run, from before its first step to after its last. */
export class RunContainer {
  readonly engine: Engine;
  readonly name: string;
  readonly settings: JobContainer['settings'];
  readonly #task: WorkerTask;
  readonly #main: MainThread;
  readonly #object: EngineObject;
  readonly #cgroup: Promise<ContainerCgroup | null>;

  private constructor(task: WorkerTask, job: JobContainer, engine: Engine, main: MainThread, id: string) {
    this.engine = engine;
    this.name = job.name;
    this.settings = job.settings;
    this.#task = task;
    this.#main = main;
    this.#object = objectOf(job);
    this.#cgroup = this.#findCgroup(id);
  }

  /** Makes it. The owner record names it before anything is mounted. */
  static async start(
    task: WorkerTask,
    job: JobContainer,
    main: MainThread,
  ): Promise<{ ok: true; container: RunContainer } | { ok: false; failure: PartFailure }> {
    const engine = new Engine(job.engine);
    const object = objectOf(job);
    const unnoted = await main.noteObject(object);
    if (unnoted !== null) return { ok: false, failure: { reason: 'host', why: unnoted } };
    makeRoomFor(task.paths);
    const started = await startContainer(
      engine,
      {
        name: job.name,
        labels: job.labels,
        image: job.image,
        limits: job.settings.limits,
        user: job.settings.user,
        mounts: mountsOf(task.paths),
        network: null,
        command: MAIN_PROCESS,
      },
      { marker: task.marker },
    );
    if (started.ok) {
      return { ok: true, container: new RunContainer(task, job, engine, main, started.value) };
    }
    // One that could not be started has been made.
    const removed = await removeContainers(engine, [job.name], { marker: task.marker });
    if (removed.ok) main.tell({ type: 'engine-object-gone', object });
    return { ok: false, failure: startFailure(job.image, started.failure) };
  }

  /** What runs in it beside its main process; null where this host does not show it. */
  async processes(): Promise<ProcessStat[] | null> {
    const cgroup = await this.#cgroup;
    return cgroup && containerProcesses(cgroup, IDLE_COMMAND);
  }

  /** The step's own process, of those: the engine started it, and nothing within the container did. */
  async startedByEngine(): Promise<ProcessStat[]> {
    const [cgroup, processes] = [await this.#cgroup, await this.processes()];
    const inside = new Set(processes?.map(({ pid }) => pid));
    return (processes ?? []).filter(({ ppid }) => ppid !== cgroup?.mainPid && !inside.has(ppid));
  }

  /** How often something in it was ended for want of memory; null where this host does not show it. */
  async oomKills(): Promise<number | null> {
    const cgroup = await this.#cgroup;
    return cgroup && oomKills(cgroup);
  }

  async state(): Promise<EngineReply<ContainerState | null>> {
    return await containerState(this.engine, this.name);
  }

  /** Signals all that the steps have started, whatever group or session it is in; false where that failed. */
  async signalAll(signal: 'TERM' | 'KILL'): Promise<boolean> {
    const done = await execScript(this.engine, this.name, signalAllScript(signal), [], {
      timeoutMs: SIGNAL_MS,
      marker: this.#task.marker,
    });
    return done.ok;
  }

  /** Ends it with all that runs in it: for when not even a signal can be sent from inside. */
  async kill(): Promise<void> {
    await this.engine.call(['kill', this.name], { timeoutMs: SIGNAL_MS });
  }

  /** Ends and removes it. What the engine does not do now is left to the main thread. */
  async remove(): Promise<EngineReply<null>> {
    const removed = await removeContainers(this.engine, [this.name], { marker: this.#task.marker });
    if (removed.ok) this.#main.tell({ type: 'engine-object-gone', object: this.#object });
    return removed;
  }

  async #findCgroup(id: string): Promise<ContainerCgroup | null> {
    const state = await this.state();
    return state.ok && state.value ? containerCgroup(state.value.pid, id) : null;
  }
}

function objectOf({ engine, name }: JobContainer): EngineObject {
  return { kind: 'container', engine: engine.name, name };
}

/** Where the steps' scripts stand; made here, since a mount needs it. */
export function scriptsFolder(paths: JobPaths): string {
  return path.join(paths.tree, 'steps');
}

/** Whatever user the steps run as must be able to write where they are to write. */
function makeRoomFor(paths: JobPaths): void {
  mkdirSync(scriptsFolder(paths), { mode: 0o755 });
  chmodSync(paths.tmp, 0o1777);
}

function mountsOf(paths: JobPaths): Mount[] {
  return [
    { host: paths.src, inside: INSIDE.workspace },
    { host: paths.cache, inside: INSIDE.cache },
    { host: paths.tmp, inside: INSIDE.tmp },
    { host: scriptsFolder(paths), inside: INSIDE.steps, readOnly: true },
    // The tree borrows its objects by this path.
    ...(paths.git === null
      ? []
      : [{ host: path.join(paths.git, 'objects'), inside: path.join(paths.git, 'objects'), readOnly: true }]),
  ];
}

function startFailure(image: string, { reason, why }: EngineFailure): PartFailure {
  if (reason === 'no-image') return { reason: 'engine', why: `image ${image} is not on this host` };
  const full = /no space left/i.test(why);
  return { reason: full ? 'disk-full' : 'engine', why: `container of image ${image}: ${why}` };
}
