import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { StepSpec } from '../../shared/job-spec.ts';
import type { StepExit } from '../../shared/platform/step-process.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { MainThread, Stop } from '../port.ts';
import { StepProcesses } from './leftovers.ts';
import type { Place, PlacedProcesses } from './place.ts';
import { shellArguments, writeScript } from './shell.ts';
import { stepEnvironment } from './step-env.ts';
import { type Ended, resultOfExit } from './step-result.ts';

/** Steps as children of this process or of its spawner. */
export class HostPlace implements Place {
  readonly #task: WorkerTask;
  readonly #main: MainThread;

  constructor(task: WorkerTask, main: MainThread) {
    this.#task = task;
    this.#main = main;
  }

  command(step: StepSpec, number: number): ReturnType<Place['command']> {
    const { spec, paths, baseEnv, marker } = this.#task;
    const cwd = workingDirectory(paths.src, step.workingDirectory);
    if (!cwd.ok) return cwd;
    const script = path.join(paths.tree, `step-${number}.sh`);
    writeScript(script, step.run);
    const [file = '', ...args] = shellArguments(step.shell, script);
    const env = stepEnvironment(spec, step, paths, baseEnv, marker);
    return { ok: true, placed: { command: { file, args, cwd: cwd.path, env }, release: () => {} } };
  }

  processes(pgid: number): PlacedProcesses {
    const { cgroup, marker } = this.#task;
    return new StepProcesses(pgid, cgroup, marker, () => this.#main.tell({ type: 'cgroup-joined' }));
  }

  async result(exit: StepExit, stop: Stop | null, lastError: string): Promise<Ended> {
    return resultOfExit(exit, stop, lastError);
  }
}

/** A step's working directory, which may not leave the workspace, through links neither. */
function workingDirectory(
  src: string,
  relative: string,
): { ok: true; path: string } | { ok: false; why: string } {
  const wanted = path.resolve(src, relative);
  const inside = (folder: string, base: string): boolean => folder === base || folder.startsWith(`${base}/`);
  if (!inside(wanted, src)) return { ok: false, why: `working-directory ${relative} leaves the workspace` };
  if (wanted === src) return { ok: true, path: src };
  try {
    const real = realpathSync(wanted);
    if (inside(real, realpathSync(src))) return { ok: true, path: wanted };
    return { ok: false, why: `working-directory ${relative} leaves the workspace through a link` };
  } catch {
    return { ok: false, why: `working-directory ${relative} is not there` };
  }
}
