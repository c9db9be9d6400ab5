import { chmodSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import {
  type ContainerState,
  containerState,
  execScript,
  startContainer,
} from '../../shared/engine/containers.ts';
import { Engine } from '../../shared/engine/engine.ts';
import { INSIDE, type JobContainer, type Mount } from '../../shared/engine/job-container.ts';
import type { EngineReply } from '../../shared/engine/types.ts';
import {
  type ContainerCgroup,
  containerCgroup,
  containerProcesses,
  findContainerCgroup,
  oomKills,
  oomKillsIn,
  userOf,
} from '../../shared/platform/container-cgroup.ts';
import type { ProcessStat } from '../../shared/platform/processes.ts';
import { JOB_ALIAS } from '../../shared/service-rules.ts';
import type { JobPaths, WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { imageSource, withImage } from './image.ts';
import {
  HAND_BACK,
  HAND_OVER,
  IDLE_COMMAND,
  MAIN_PROCESS,
  MEMORY_EVENTS,
  signalAllScript,
} from './inside.ts';

/** For what is run inside: a signal, a count, or the owners of many files. */
const INSIDE_MS = 60_000;
const KILL_MS = 15_000;

interface Facts {
  /** Null where this host does not show it. */
  readonly cgroup: ContainerCgroup | null;
  /** That the steps run as; empty is root. */
  readonly user: string;
}

/** The container of one run, from before its first step to after its last. */
export class RunContainer {
  readonly engine: Engine;
  readonly name: string;
  readonly settings: JobContainer['settings'];
  readonly #task: WorkerTask;
  readonly #facts: Promise<Facts>;

  private constructor(task: WorkerTask, job: JobContainer, engine: Engine, id: string) {
    this.engine = engine;
    this.name = job.name;
    this.settings = job.settings;
    this.#task = task;
    this.#facts = this.#findOut(id);
  }

  /** Makes it, on this network of the job's or the engine's own. The owner record names it before anything is mounted. */
  static async start(
    task: WorkerTask,
    job: JobContainer,
    main: MainThread,
    log: RunLog,
    network: string | null,
  ): Promise<{ ok: true; container: RunContainer } | { ok: false; failure: PartFailure }> {
    const engine = new Engine(job.engine);
    const unnoted = await main.noteObject({ kind: 'container', engine: engine.name, name: job.name });
    if (unnoted !== null) return { ok: false, failure: { reason: 'host', why: unnoted } };
    makeRoomFor(task.paths);
    const spec = {
      name: job.name,
      labels: job.labels,
      limits: job.settings.limits,
      user: job.settings.user,
      mounts: mountsOf(task.paths),
      network,
      aliases: network === null ? [] : [JOB_ALIAS],
      command: MAIN_PROCESS,
    };
    const source = imageSource({ task, job, engine, main, log }, job.image);
    const started = await withImage(source, (image) =>
      startContainer(engine, { ...spec, image }, { marker: task.marker }),
    );
    if (started.ok) {
      const container = new RunContainer(task, job, engine, started.value);
      await container.#handOver();
      return { ok: true, container };
    }
    return { ok: false, failure: started.failure };
  }

  /** What runs in it beside its main process; null where this host does not show it. */
  async processes(): Promise<ProcessStat[] | null> {
    const cgroup = (await this.#facts).cgroup;
    return cgroup && containerProcesses(cgroup, IDLE_COMMAND);
  }

  /** The step's own process, of those: the engine started it, and nothing within the container did. */
  async startedByEngine(): Promise<ProcessStat[]> {
    const { cgroup } = await this.#facts;
    const processes = (await this.processes()) ?? [];
    const inside = new Set(processes.map(({ pid }) => pid));
    return processes.filter(({ ppid }) => ppid !== cgroup?.mainPid && !inside.has(ppid));
  }

  /**
   * How often something in it was ended for want of memory; null where it cannot be told any more. Where
   * this host does not show it, it is only known when the engine is asked, at the cost of an exec.
   */
  async oomKills({ ask }: { ask: boolean }): Promise<number | null> {
    const { cgroup } = await this.#facts;
    if (cgroup || !ask) return cgroup && oomKills(cgroup);
    const said = await this.#inside(MEMORY_EVENTS);
    return said.ok ? oomKillsIn(said.value) : null;
  }

  async state(): Promise<EngineReply<ContainerState | null>> {
    return await containerState(this.engine, this.name);
  }

  /** Signals all that the steps have started, whatever group or session it is in; false where that failed. */
  async signalAll(signal: 'TERM' | 'KILL'): Promise<boolean> {
    return (await this.#inside(signalAllScript(signal))).ok;
  }

  /** Before the first step: its folders belong to whoever the steps run as. */
  async #handOver(): Promise<void> {
    const { user } = await this.#facts;
    if (!isRoot(user)) await this.#inside(HAND_OVER, [user]);
  }

  /** After the last step: what it wrote as others can be read and removed by the runner's user. */
  async handBack(): Promise<void> {
    if (process.getuid?.() === 0) return;
    const { user } = await this.#facts;
    if (user.split(':')[0] === String(process.getuid?.())) return;
    await this.#inside(HAND_BACK, [isRoot(user) ? 'root' : 'other']);
  }

  /** Ends it with all that runs in it: for when not even a signal can be sent from inside. */
  async kill(): Promise<void> {
    await this.engine.call(['kill', this.name], { timeoutMs: KILL_MS });
  }

  /** Runs a script in it as root. */
  async #inside(script: string, args: readonly string[] = []): Promise<EngineReply<string>> {
    const options = { timeoutMs: INSIDE_MS, marker: this.#task.marker };
    return await execScript(this.engine, this.name, script, args, options);
  }

  /** By what this host shows, so that most jobs need not ask the engine. */
  async #findOut(id: string): Promise<Facts> {
    const shown = findContainerCgroup(id);
    const user = shown && userOf(shown.mainPid);
    if (shown && user) return { cgroup: shown, user: user.uid === 0 ? '' : `${user.uid}:${user.gid}` };
    const state = await this.state();
    if (!state.ok || !state.value) return { cgroup: null, user: '' };
    return { cgroup: containerCgroup(state.value.pid, id), user: state.value.user };
  }
}

/** As `--user` and an image have it: `USER[:GROUP]`, or nothing. */
function isRoot(user: string): boolean {
  return /^(root|0)?(:|$)/.test(user);
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
