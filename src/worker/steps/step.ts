import { closeSync } from 'node:fs';
import { wholeLine } from '../../shared/errors.ts';
import type { StepSpec } from '../../shared/job-spec.ts';
import type { StepOutcome } from '../../shared/outcome.ts';
import { type Spawned, type StepCommand, spawnStep } from '../../shared/platform/step-process.ts';
import { within } from '../../shared/within.ts';
import type { StepStreams, WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { MainThread, Stop } from '../port.ts';
import { workspaceFault } from '../real-folder.ts';
import { Output } from './output.ts';
import type { Place, PlacedProcesses } from './place.ts';
import type { SpawnerClient } from './spawner-client.ts';
import { type Ended, notStarted } from './step-result.ts';

/** After everything was killed: how long a pipe may still be open before it is closed from our side. */
const DRAIN_MS = 1_000;

/** Runs one step from its script file to the end of its last process. Never rejects. */
export async function runStep(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
  spawner: SpawnerClient | null,
  place: Place,
  step: StepSpec,
  number: number,
): Promise<StepOutcome> {
  const start = performance.now();
  const ended = await attempt(task, main, log, spawner, place, step, number);
  return { name: step.name, ...ended, durationMs: Math.round(performance.now() - start) };
}

async function attempt(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
  spawner: SpawnerClient | null,
  place: Place,
  step: StepSpec,
  number: number,
): Promise<Ended> {
  const fault = workspaceFault(task.paths);
  if (fault !== null) return notStarted('spawn', fault);
  let placed: ReturnType<Place['command']>;
  try {
    placed = place.command(step, number);
  } catch (error) {
    return notStarted(
      (error as NodeJS.ErrnoException).code === 'ENOSPC' ? 'disk-full' : 'host',
      wholeLine(error),
    );
  }
  if (!placed.ok) return notStarted('spawn', placed.why);
  const { command, release } = placed.placed;
  const streams = await main.streams();
  if (!streams.ok) {
    release();
    return notStarted(/no space left|ENOSPC/i.test(streams.why) ? 'disk-full' : 'host', streams.why);
  }
  const { fds } = streams;
  const outputs = [
    new Output(fds.stdoutRead, log, log.stream(number, 'o')),
    new Output(fds.stderrRead, log, log.stream(number, 'e')),
  ] as const;
  const spawned = await start(spawner, command, fds);
  if (!spawned.ok) {
    release();
    for (const output of outputs) output.destroy();
    return spawner?.ended ? lost(main) : notStarted('spawn', spawned.why);
  }
  main.tell({ type: 'process', pgid: spawned.pgid, what: step.name });
  const processes = place.processes(spawned.pgid);
  const stopper = new Stopper(main, processes, step.timeoutMs, task.killGraceMs);
  const exit = await spawned.exited;
  release();
  for (const output of outputs) output.takeRest();
  const closed = Promise.all(outputs.map((output) => output.closed));
  await within(Promise.race([closed, stopper.killed]), task.pipeGraceMs);
  // The shell is often the first that TERM ends: what it had started has the grace too.
  if (stopper.stopping) await processes.groupEnded(stopper.killed);
  for (const line of await processes.endLeftovers()) log.say(number, line);
  await within(closed, DRAIN_MS);
  const drained = outputs.every((output) => output.isClosed);
  for (const output of outputs) output.destroy();
  const stop = stopper.end();
  main.tell({ type: 'process-gone', pgid: spawned.pgid, drained });
  if (spawner?.ended && !stop) return lost(main);
  return await place.result(exit, stop, outputs[1].lastLine, (line) => log.say(number, line));
}

/**
 * What starts the steps was killed: any job of the host may have done it, or the kernel for want of memory. So it is with
 * the whole run as with one whose runner was killed.
 */
function lost(main: MainThread): Ended {
  const why = 'the process that starts the steps was killed, and this step with it';
  main.stop({ reason: 'lost', why });
  return notStarted('lost', why);
}

/** By the spawner, which is small, so that a fork is cheap; by this thread where there is none. */
async function start(
  spawner: SpawnerClient | null,
  command: Omit<StepCommand, 'stdoutFd' | 'stderrFd'>,
  fds: StepStreams,
): Promise<Spawned> {
  const spawned = await spawner?.spawn({
    ...command,
    stdout: `/proc/${process.pid}/fd/${fds.stdoutWrite}`,
    stderr: `/proc/${process.pid}/fd/${fds.stderrWrite}`,
  });
  if (!spawned) return await spawnStep({ ...command, stdoutFd: fds.stdoutWrite, stderrFd: fds.stderrWrite });
  closeSync(fds.stdoutWrite);
  closeSync(fds.stderrWrite);
  return spawned;
}

/** Ends a step early: TERM to its group when the run is stopped or the step is out of time, KILL after the grace. */
class Stopper {
  /** Resolves when KILL was sent: what keeps a pipe open then is not worth its grace. */
  readonly killed: Promise<void>;
  readonly #main: MainThread;
  readonly #onStopped: () => void;
  #timer: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #stop: Stop | null = null;

  constructor(main: MainThread, processes: PlacedProcesses, timeoutMs: number | null, graceMs: number) {
    let sentKill = (): void => {};
    this.killed = new Promise((resolve) => {
      sentKill = resolve;
    });
    const begin = (stop: Stop): void => {
      if (this.#stop) return;
      this.#stop = stop;
      processes.terminate();
      this.#grace = setTimeout(() => {
        processes.kill();
        sentKill();
      }, graceMs);
    };
    this.#main = main;
    this.#onStopped = () => {
      if (main.stopped) begin(main.stopped);
    };
    main.stopping.addEventListener('abort', this.#onStopped);
    this.#onStopped();
    if (timeoutMs !== null) {
      const why = `the step is over its ${timeoutMs / 60_000} minutes`;
      const atMost = Math.min(timeoutMs, 2 ** 31 - 1);
      this.#timer = setTimeout(() => begin({ reason: 'timeout', why }), atMost);
    }
  }

  get stopping(): boolean {
    return this.#stop !== null;
  }

  /** Why the step was ended, or null. */
  end(): Stop | null {
    clearTimeout(this.#timer);
    clearTimeout(this.#grace);
    this.#main.stopping.removeEventListener('abort', this.#onStopped);
    return this.#stop;
  }
}
