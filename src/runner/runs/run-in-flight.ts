import { MessageChannel } from 'node:worker_threads';
import type { JobContainer } from '../../shared/engine/job-container.ts';
import type { EngineFacts } from '../../shared/engine/types.ts';
import { inContainer, type JobSpec } from '../../shared/job-spec.ts';
import type { RunOutcome } from '../../shared/outcome.ts';
import type { OwnerFile } from '../../shared/owner-file.ts';
import type { JobPaths, WorkerTask } from '../../shared/worker-messages.ts';
import type { RunningTask, TaskEnd, WorkerPool } from '../pool/pool.ts';
import type { SessionLink } from '../slots/session-link.ts';
import type { Afterwards } from './afterwards.ts';
import { type ObjectRecord, ObjectsOfRun } from './objects-of-run.ts';
import { ProcessesOfRun } from './processes-of-run.ts';
import { Removal } from './removal.ts';
import { type NextLease, Reporter, type RunEnd } from './reporter.ts';
import {
  notAllowed,
  outcomeOfEnd,
  type Stop,
  type StopReason,
  stoppedLate,
  unprepared,
} from './run-outcomes.ts';
import type { SpoolReader } from './spool-reader.ts';
import { type PortServices, WorkerPort } from './worker-port.ts';

/** What a run holds on this host while it executes. */
export interface JobRoom {
  readonly paths: JobPaths;
  /** The file at `paths.spool`; closed by `leave`. */
  readonly spool: SpoolReader;
  readonly cgroup: string | null;
  readonly marker: string;
  readonly container: JobContainer | null;
  readonly owner: ObjectRecord & Pick<OwnerFile, 'group' | 'groupGone' | 'ended'>;
  /** Closes what a thread that has ended has left open in the tree. */
  closeLeft(): void;
  /** Gives up namespace and cgroup; only once the run's processes are gone. `joined`: they were in the cgroup. */
  releaseCache(how: { joined: boolean }): void;
  /**
   * Moves the tree out of the way, once the log was sent; deleting goes on behind it. A run that was not
   * `reported` leaves its tree to the next start on the directory, where that can report it.
   */
  leave(how: { reported: boolean }): void;
}

/** The process-wide services that a run uses. */
export interface RunServices extends PortServices {
  /** Null where there is none: jobs run on the host. */
  readonly engine: EngineFacts | null;
  readonly pool: WorkerPool;
  /** Takes guards and makes tree, owner record, namespace and cgroup. Throws an Error of one clear line. */
  makeRoom(spec: JobSpec, signal: AbortSignal): Promise<JobRoom>;
  readonly task: Pick<
    WorkerTask,
    | 'agent'
    | 'masked'
    | 'killGraceMs'
    | 'pipeGraceMs'
    | 'logLimitBytes'
    | 'artifactLimitBytes'
    | 'baseEnv'
    | 'gitEnv'
  >;
  /** Ends what the agents' server still does in a run's workspace. Never rejects. */
  agentLeave(workspace: string): Promise<void>;
  /** Socket of the process that spawns steps, or null. */
  spawner(): Promise<string | null>;
  readonly afterwards: Pick<Afterwards, 'add' | 'room'>;
  readonly hostJobs: 'never' | 'trusted' | 'always';
  readonly onThread: (spec: JobSpec, threadId: number) => void;
  readonly warn: (line: string) => void;
}

/** Beyond the grace: how long a worker may take to answer a cancel before its thread is ended. */
const ANSWER_MS = 5_000;
/** The same where an engine has to signal what runs and to remove it. */
const CONTAINER_ANSWER_MS = 30_000;
const HURRY_MS = 1_000;
/** How long KILL may take to have ended everything before the slot goes on without it. */
const GONE_MS = 10_000;

/**
 * One run from its acceptance to its record. The order of the end is what keeps the promises: the
 * task has ended, then every process is gone, then the guards are released, then the log is
 * complete on the server, then the record, then the tree goes; without a record it stays.
 */
export class RunInFlight {
  readonly spec: JobSpec;
  readonly #services: RunServices;
  readonly #link: SessionLink;
  readonly #abort = new AbortController();
  readonly #startedAt = Date.now();
  readonly #refusal: RunOutcome | null;
  #room: Promise<JobRoom> | null = null;
  #reporter: Reporter | null = null;
  #port: WorkerPort | null = null;
  #task: RunningTask | null = null;
  #processes: ProcessesOfRun | null = null;
  #objects: ObjectsOfRun | null = null;
  #owner: JobRoom['owner'] | null = null;
  #stop: Stop | null = null;
  /** A stop that came when only the report was left. */
  #lateStop: Stop | null = null;
  #stale = false;
  #next: NextLease | null = null;
  #reporting = false;

  constructor(services: RunServices, spec: JobSpec, link: SessionLink) {
    this.#services = services;
    this.spec = spec;
    this.#link = link;
    this.#refusal = notAllowed(spec, services.hostJobs, services.engine !== null);
  }

  /** It has ended here and only has to be reported. */
  get reporting(): boolean {
    return this.#reporting;
  }

  /** Begins to make the room of a run that is not accepted yet: where it takes no turn and no engine. */
  prepare(): void {
    if (this.#refusal || inContainer(this.spec)) return;
    this.#room = this.#services.makeRoom(this.spec, this.#abort.signal);
    this.#room.catch(() => {}); // told by whoever uses it
  }

  /** It was not accepted: nothing of it stays here. */
  async giveUp(): Promise<void> {
    this.#abort.abort(new Error('the run was not accepted'));
    const room = await this.#room?.catch(() => null);
    room?.releaseCache({ joined: false });
    room?.leave({ reported: true }); // there is nothing to report of it
  }

  /** Never rejects: what goes wrong is the outcome. `next`: asked for with the record where that may be. */
  async execute(leaseSeconds: number, next: NextLease | null = null): Promise<RunEnd> {
    this.#next = next;
    const reporter = this.#startReporter(leaseSeconds);
    if (this.#refusal) return await this.#report(this.#refusal, 0, reporter);
    if (this.spec.image !== null) await this.#services.afterwards.room();
    let room: JobRoom;
    try {
      room = await (this.#room ?? this.#services.makeRoom(this.spec, this.#abort.signal));
    } catch (error) {
      return await this.#report(unprepared(error, this.#stop), 0, reporter);
    }
    reporter.attach(room.spool);
    this.#owner = room.owner;
    const end = await this.#runTask(room, reporter);
    const removal = await this.#letGo(end, room);
    const logLength = end.type === 'result' ? end.result.logBytes : room.spool.size;
    const outcome = outcomeOfEnd(end, this.#stop, Date.now() - this.#startedAt);
    const report = await this.#report(outcome, logLength, reporter);
    const reported = report.reported !== 'abandoned';
    if (removal) removal.ended({ reported });
    else room.leave({ reported });
    return report;
  }

  /** Ends the run early: TERM, the grace, KILL; and its thread, where that does not answer. The first call counts. */
  cancel(reason: StopReason, why: string): void {
    if (this.#stop) return;
    this.#stop = { reason, why };
    if (this.#reporting) {
      this.#lateStop = this.#stop;
      this.#reporter?.stopArtifacts();
      return;
    }
    this.#abort.abort(new Error(why));
    this.#port?.cancel(reason, why);
    const boundMs =
      this.#services.task.killGraceMs + (inContainer(this.spec) ? CONTAINER_ANSWER_MS : ANSWER_MS);
    const unanswered = setTimeout(() => this.#endThread(), boundMs);
    void this.#task?.ended.then(() => clearTimeout(unanswered));
  }

  /** After a cancel whose grace nobody will wait for: KILL to its processes, and it is reported. */
  hurry(): void {
    this.#processes?.kill();
    this.#objects?.kill();
    const unanswered = setTimeout(() => this.#endThread(), HURRY_MS);
    void this.#task?.ended.then(() => clearTimeout(unanswered));
  }

  /** The last resort: KILL to everything at once, and no record. */
  kill(): void {
    this.cancel('interrupted', 'the runner was told to go at once');
    this.#reporter?.abandon();
    this.#processes?.kill();
    this.#objects?.kill();
    this.#endThread();
  }

  /** Tells the server that the run lives, for instance after a reconnect. */
  beat(): void {
    void this.#reporter?.beat();
  }

  #startReporter(leaseSeconds: number): Reporter {
    const { run, attempt } = this.spec;
    const reporter = new Reporter(this.#link, { run, attempt }, null, {
      cancel: (why) => this.cancel('cancelled', why),
      stale: (why) => {
        this.#stale = true;
        this.cancel('cancelled', `stale: ${why}`);
      },
      unrecorded: (end) => this.#owner?.ended(end),
    });
    reporter.startHeartbeats(leaseSeconds);
    this.#reporter = reporter;
    return reporter;
  }

  async #report(outcome: RunOutcome, logLength: number, reporter: Reporter): Promise<RunEnd> {
    this.#reporting = true;
    // A run that has passed and only waits to say so has passed, though the runner stops meanwhile.
    const amend = (ended: RunOutcome, cut: boolean): RunOutcome =>
      this.#lateStop && (cut || this.#lateStop.reason === 'cancelled')
        ? stoppedLate(ended, this.#lateStop)
        : ended;
    if (!this.#stale) return await reporter.finish(outcome, logLength, amend, this.#next);
    reporter.abandon();
    return { outcome, reported: 'stale' };
  }

  async #runTask(room: JobRoom, reporter: Reporter): Promise<TaskEnd> {
    const { port1, port2 } = new MessageChannel();
    const processes = new ProcessesOfRun(room.marker, room.cgroup);
    this.#processes = processes;
    const objects = new ObjectsOfRun(this.#services.engine, room.marker, room.owner);
    this.#objects = objects;
    this.#port = new WorkerPort(port1, this.#services, {
      thread: (id) => {
        this.#task?.begun();
        this.#services.onThread(this.spec, id);
      },
      process: (pgid) => {
        processes.announced(pgid);
        room.owner.group(pgid);
      },
      processGone: (pgid) => {
        processes.gone(pgid);
        room.owner.groupGone(pgid);
      },
      engineObject: (object) => objects.announced(object),
      cgroupJoined: () => processes.cgroupJoined(),
      spooled: (bytes) => reporter.spooled(bytes),
      artifact: (artifact) => reporter.artifact(artifact),
      publish: (request, signal) => reporter.publish(request, AbortSignal.any([signal, this.#abort.signal])),
    });
    const { task: settings, pool } = this.#services;
    const [spawner, streams] = await Promise.all([
      this.#services.spawner(),
      this.#port.streams().catch(() => null), // the worker asks again, and has the reason
    ]);
    this.#task = pool.run(
      {
        ...settings,
        spawner,
        streams,
        spoolFd: room.spool.fd,
        spec: this.spec,
        paths: room.paths,
        port: port2,
        marker: room.marker,
        cgroup: room.cgroup,
        container: room.container,
        startedAt: this.#startedAt,
      },
      port2,
    );
    if (this.#stop) this.#port.cancel(this.#stop.reason, this.#stop.why);
    const overdue = setTimeout(
      () => this.cancel('timeout', `over its ${this.spec.timeoutMs / 60_000} minutes`),
      Math.min(this.spec.timeoutMs + ANSWER_MS, 2 ** 31 - 1),
    );
    const end = await this.#task.ended;
    clearTimeout(overdue);
    await this.#port.close();
    return end;
  }

  #endThread(): void {
    void this.#task?.terminate();
  }

  /**
   * Guards go when the processes and containers are gone. What withstands KILL keeps them, and the slot
   * goes on. A container in which nothing of the job runs any more is removed behind the report.
   */
  async #letGo(end: TaskEnd, room: JobRoom): Promise<Removal | null> {
    if (end.type === 'died') await this.#task?.terminate();
    const threadDied = end.type === 'died';
    this.#port?.takeBackStreams({ threadDied });
    if (threadDied) room.closeLeft();
    if (this.spec.agent !== null) await this.#services.agentLeave(room.paths.src);
    // Lost is a run whose spawner was killed, which may have started what it could not tell of.
    const unannounced = threadDied || (end.type === 'result' && end.result.outcome.result === 'lost');
    const gone = await this.#processes?.end({ unannounced, boundMs: GONE_MS });
    const { run, attempt } = this.spec;
    const warn = (what: string): void => this.#services.warn(`run ${run} attempt ${attempt}: ${what}`);
    if (gone === false) {
      warn('processes withstand KILL; its cache stays in use');
      return null;
    }
    const release = (): void => {
      this.#port?.releaseGuards();
      room.releaseCache({ joined: this.#processes?.joinedCgroup ?? false });
    };
    const objects = this.#objects;
    if (!objects || objects.none) {
      release();
      return null;
    }
    const removal = new Removal({
      remove: () => objects.end({ threadDied }),
      release,
      leave: (how) => room.leave(how),
      warn,
    });
    this.#services.afterwards.add(() => removal.go());
    if (threadDied) await removal.tried;
    return removal;
  }
}
