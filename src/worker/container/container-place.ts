import { chmodSync, closeSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { INSIDE } from '../../shared/engine/job-container.ts';
import type { StepSpec } from '../../shared/job-spec.ts';
import { signalGroup } from '../../shared/platform/processes.ts';
import { environmentFault, type StepExit } from '../../shared/platform/step-process.ts';
import { formatBytes } from '../../shared/units.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { Stop } from '../port.ts';
import type { Place, PlacedProcesses } from '../steps/place.ts';
import { shellArguments, writeScript } from '../steps/shell.ts';
import { stepEnvironment } from '../steps/step-env.ts';
import { type Ended, notStarted, resultOfExit } from '../steps/step-result.ts';
import { type RunContainer, scriptsFolder } from './container.ts';
import { ContainerProcesses } from './container-processes.ts';
import { exportsOf, STEP_WRAPPER } from './inside.ts';

/** Becomes the engine's client with the opened file as its standard input. */
const WITH_INPUT = 'exec "$@" <"$0"';

/** Steps executed in the run's container, by a client of the engine on this host. */
export class ContainerPlace implements Place {
  readonly #task: WorkerTask;
  readonly #container: RunContainer;
  /** As counted at the end of the step before. */
  #oomKills = 0;
  #processes: ContainerProcesses | null = null;

  constructor(task: WorkerTask, container: RunContainer) {
    this.#task = task;
    this.#container = container;
  }

  command(step: StepSpec, number: number): ReturnType<Place['command']> {
    const env = this.#environment(step);
    const fault = environmentFault(env);
    if (fault !== null) return { ok: false, why: fault };
    const inside = path.posix.join(INSIDE.workspace, step.workingDirectory);
    if (inside !== INSIDE.workspace && !inside.startsWith(`${INSIDE.workspace}/`)) {
      return { ok: false, why: `working-directory ${step.workingDirectory} leaves the workspace` };
    }
    const script = path.join(scriptsFolder(this.#task.paths), `${number}.sh`);
    writeScript(script, step.run);
    chmodSync(script, 0o644); // whatever user the steps run as is to read it
    const shell = shellArguments(step.shell, `${INSIDE.steps}/${number}.sh`);
    const { engine, name } = this.#container;
    const wrapped = ['/bin/sh', '-c', STEP_WRAPPER, 'vole', inside, ...shell];
    const input = this.#inputOf(number, exportsOf(env));
    const args = ['-c', WITH_INPUT, input.path, engine.name, 'exec', '--interactive', name, ...wrapped];
    const command = {
      file: '/bin/sh',
      args,
      cwd: '/',
      env: { ...engine.env, VOLE_JOB_MARKER: this.#task.marker },
    };
    return { ok: true, placed: { command, release: input.release } };
  }

  processes(pgid: number): PlacedProcesses {
    this.#processes = new ContainerProcesses(this.#container, () => signalGroup(pgid, 'SIGKILL'));
    return this.#processes;
  }

  /** A client says little of why: the kernel's count and the engine are asked. */
  async result(
    exit: StepExit,
    stop: Stop | null,
    lastError: string,
    say: (line: string) => void,
  ): Promise<Ended> {
    if (stop) return resultOfExit(exit, stop, lastError);
    const passed = exit.exitCode === 0 && !this.#processes?.outlivedClient;
    const before = this.#oomKills;
    const counted = await this.#container.oomKills({ ask: !passed });
    this.#oomKills = counted ?? before;
    if (passed) {
      if (this.#oomKills > before) say(`a process of this step was killed, ${this.#memoryWords()}`);
      return resultOfExit(exit, stop, lastError);
    }
    if (counted !== null && counted > before) return this.#outOfMemory(exit);
    const state = await this.#stateOfFailed();
    if (!state.ok) return notStarted('engine', `the container engine went away: ${state.failure.why}`);
    if (state.value === null) return notStarted('engine', 'the container was removed');
    if (state.value.running) {
      const fault = exit.exitCode === 126 ? startFault(lastError) : null;
      if (fault !== null) return notStarted('spawn', fault);
      if (!this.#processes?.outlivedClient) return resultOfExit(exit, stop, lastError);
      return notStarted(
        'engine',
        `${this.#container.engine.name} exec ended before the step, which was then killed`,
      );
    }
    if (state.value.oomKilled) return this.#outOfMemory(exit);
    return notStarted('engine', `the container has ended (exit code ${state.value.exitCode})`);
  }

  /** An engine that is being ended kills the step before it stops to answer: it is given a moment. */
  async #stateOfFailed(): ReturnType<RunContainer['state']> {
    const state = await this.#container.state();
    if (!state.ok || !state.value || state.value.running) return state;
    await delay(500);
    return await this.#container.state();
  }

  #outOfMemory({ exitCode, signal }: StepExit): Ended {
    return { result: 'failed', exitCode, signal, reason: 'out-of-memory', detail: this.#memoryWords() };
  }

  #memoryWords(): string {
    const { memoryBytes } = this.#container.settings.limits;
    return `out of memory: ${memoryBytes === null ? 'the host has no more' : `the limit is ${formatBytes(memoryBytes)}`}`;
  }

  #environment(step: StepSpec): Record<string, string> {
    const { spec, paths, baseEnv, marker } = this.#task;
    const { PATH: _path, ...base } = baseEnv;
    const inside = { ...paths, src: INSIDE.workspace, cache: INSIDE.cache, tmp: INSIDE.tmp };
    // The workspace is of the runner's user, whoever the steps run as: git would refuse it.
    const git = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' };
    const { HOME: _home, ...env } = stepEnvironment(spec, step, inside, { ...git, ...base }, marker);
    // HOME and PATH are the image's, unless the job says so.
    const { HOME } = { ...spec.env, ...spec.secrets, ...step.env };
    return HOME === undefined ? env : { ...env, HOME };
  }

  /** A file without a name, so that nothing of it stays when this process is killed. */
  #inputOf(number: number, text: string): { path: string; release: () => void } {
    const file = path.join(this.#task.paths.tree, `env-${number}`);
    const fd = openSync(file, 'wx+', 0o600);
    rmSync(file);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    return { path: `/proc/${process.pid}/fd/${fd}`, release: () => closeSync(fd) };
  }
}

/** Why the wrapper could not become the step; null where it did. */
function startFault(lastError: string): string | null {
  if (/argument list too long/i.test(lastError)) return 'the environment is too large for the kernel';
  const folder = new RegExp(`^vole: ${INSIDE.workspace}/(.*) is not there$`).exec(lastError)?.[1];
  return folder === undefined ? null : `working-directory ${folder} is not there`;
}
