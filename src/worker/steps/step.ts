import { closeSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { wholeLine } from '../../shared/errors.ts';
import type { StepSpec } from '../../shared/job-spec.ts';
import type { StepOutcome } from '../../shared/outcome.ts';
import { type Spawned, type StepCommand, spawnStep } from '../../shared/platform/step-process.ts';
import { within } from '../../shared/within.ts';
import type { StepStreams, WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { StreamLog } from '../log/stream-log.ts';
import type { MainThread, Stop } from '../port.ts';
import { workspaceFault } from '../real-folder.ts';
import { StepProcesses } from './leftovers.ts';
import type { SpawnerClient } from './spawner-client.ts';
import { stepEnvironment } from './step-env.ts';
import { notStarted, resultOfExit } from './step-result.ts';

/** After everything was killed: how long a pipe may still be open before it is closed from our side. */
const DRAIN_MS = 1_000;

type Ended = Omit<StepOutcome, 'name' | 'durationMs'>;

/** Runs one step from its script file to the end of its last process. Never rejects. */
export async function runStep(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
  spawner: SpawnerClient | null,
  step: StepSpec,
  number: number,
): Promise<StepOutcome> {
  const start = performance.now();
  const ended = await attempt(task, main, log, spawner, step, number);
  return { name: step.name, ...ended, durationMs: Math.round(performance.now() - start) };
}

async function attempt(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
  spawner: SpawnerClient | null,
  step: StepSpec,
  number: number,
): Promise<Ended> {
  const fault = workspaceFault(task.paths);
  if (fault !== null) return notStarted('spawn', fault);
  const cwd = workingDirectory(task.paths.src, step.workingDirectory);
  if (!cwd.ok) return notStarted('spawn', cwd.why);
  let script: string;
  try {
    script = writeScript(task.paths.tree, number, step.run);
  } catch (error) {
    return notStarted(
      (error as NodeJS.ErrnoException).code === 'ENOSPC' ? 'disk-full' : 'host',
      wholeLine(error),
    );
  }
  const streams = await main.streams();
  if (!streams.ok) {
    return notStarted(/no space left|ENOSPC/i.test(streams.why) ? 'disk-full' : 'host', streams.why);
  }
  const { fds } = streams;
  const outputs = [
    new Output(fds.stdoutRead, log, log.stream(number, 'o')),
    new Output(fds.stderrRead, log, log.stream(number, 'e')),
  ] as const;
  const command = {
    ...shellCommand(step.shell, script),
    cwd: cwd.path,
    env: stepEnvironment(task.spec, step, task.paths, task.baseEnv, task.marker),
  };
  const spawned = await start(spawner, command, fds);
  if (!spawned.ok) {
    for (const output of outputs) output.destroy();
    return notStarted('spawn', spawned.why);
  }
  main.tell({ type: 'process', pgid: spawned.pgid, what: step.name });
  const processes = new StepProcesses(spawned.pgid, task.cgroup, task.marker, () =>
    main.tell({ type: 'cgroup-joined' }),
  );
  const stopper = new Stopper(main, processes, step.timeoutMs, task.killGraceMs);
  const exit = await spawned.exited;
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
  if (spawner?.ended && !stop)
    return notStarted('host', 'the process that starts the steps ended; this step was killed');
  return resultOfExit(exit, stop, outputs[1].lastLine);
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

function writeScript(tree: string, number: number, script: string): string {
  const file = path.join(tree, `step-${number}.sh`);
  const write = (): void =>
    writeFileSync(file, script.endsWith('\n') ? script : `${script}\n`, { flag: 'wx' });
  try {
    write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    rmSync(file, { force: true, recursive: true }); // of a step before this one
    write();
  }
  return file;
}

/** `sh -e`, or bash as GitHub Actions runs it. */
function shellCommand(shell: StepSpec['shell'], script: string): { file: string; args: string[] } {
  if (shell === 'sh') return { file: '/bin/sh', args: ['-e', script] };
  return { file: 'bash', args: ['--noprofile', '--norc', '-eo', 'pipefail', script] };
}

/** One end of a step's output, read through a descriptor that the main thread opened. */
class Output {
  readonly #socket: net.Socket;
  readonly #stream: StreamLog;
  readonly #log: RunLog;
  readonly closed: Promise<void>;
  #ended = false;

  constructor(fd: number, log: RunLog, stream: StreamLog) {
    this.#socket = new net.Socket({ fd, readable: true, writable: false });
    this.#stream = stream;
    this.#log = log;
    this.#socket.on('data', (bytes) => {
      stream.push(bytes);
      log.flushSoon();
    });
    this.#socket.on('error', () => {}); // close follows
    this.closed = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.#end();
        resolve();
      });
    });
  }

  /** By itself: its last writer has gone, and everything was read. */
  get isClosed(): boolean {
    return this.#ended;
  }

  get lastLine(): string {
    return this.#stream.lastLine;
  }

  destroy(): void {
    this.#socket.destroy();
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stream.end();
    this.#log.flushSoon();
  }
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

  constructor(main: MainThread, processes: StepProcesses, timeoutMs: number | null, graceMs: number) {
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
