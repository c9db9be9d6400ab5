import { mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { type TaskEnd, WorkerPool } from '../../src/runner/pool/pool.ts';
import { ObjectsOfRun } from '../../src/runner/runs/objects-of-run.ts';
import { ProcessesOfRun } from '../../src/runner/runs/processes-of-run.ts';
import { SpoolReader } from '../../src/runner/runs/spool-reader.ts';
import { type PortEvents, type PortServices, WorkerPort } from '../../src/runner/runs/worker-port.ts';
import type { PublishRequest } from '../../src/shared/agent/result.ts';
import { savedCheckoutName } from '../../src/shared/dir-layout.ts';
import { type JobSpec, jobSpecSchema, type StepSpec } from '../../src/shared/job-spec.ts';
import { Guards } from '../../src/shared/lock/guard.ts';
import { type LogRecord, parseRecord } from '../../src/shared/log-record.ts';
import type { RunOutcome } from '../../src/shared/outcome.ts';
import { makeCgroup, ownCgroup, removeCgroup } from '../../src/shared/platform/cgroup.ts';
import { closeDescriptors } from '../../src/shared/platform/descriptors.ts';
import { FifoStock } from '../../src/shared/platform/fifos.ts';
import type { JobPaths, WorkerTask } from '../../src/shared/worker-messages.ts';
import { Cleanup } from './temp.ts';
import { until } from './until.ts';

const dist = path.resolve(import.meta.dirname, '../../dist');

export interface RigSpec extends Partial<Omit<JobSpec, 'steps' | 'source'>> {
  /** A string is a step of `sh`. */
  readonly steps: readonly (string | (Partial<StepSpec> & { run: string }))[];
  readonly source?: { url: string; sha: string; ref?: string; submodules?: boolean };
}

export interface RigEnd {
  readonly end: TaskEnd;
  /** Fails the test where the thread died. */
  readonly outcome: RunOutcome;
  readonly logBytes: number;
  /** Whether every process was gone within the bound after the task had ended. */
  readonly gone: boolean;
  readonly ms: number;
}

export interface RigOptions {
  readonly threads?: number;
  /** False: as on a host where the runner may make no cgroup. */
  readonly cgroup?: boolean;
  readonly task?: Partial<WorkerTask>;
  readonly agentServer?: PortServices['agentServer'];
  /** Folder of locks and tools that other rigs use as well. */
  readonly shared?: string;
  /** Name of the worker's file under `dist/`. */
  readonly worker?: string;
}

/** The built worker in a real pool, with the main thread's real ends of ports, FIFOs and guards. */
export class WorkerRig {
  readonly cleanup = new Cleanup();
  readonly dir: string;
  readonly home: string;
  readonly tools: string;
  readonly guards: Guards;
  readonly pool: WorkerPool;
  readonly #fifos: FifoStock;
  readonly #options: RigOptions;
  #runs = 0;

  constructor(options: RigOptions = {}) {
    this.#options = options;
    this.dir = this.cleanup.tempDir('vole-worker-');
    this.home = path.join(this.dir, 'home');
    mkdirSync(this.home);
    const shared = options.shared ?? this.dir;
    this.tools = path.join(shared, 'tools');
    mkdirSync(this.tools, { recursive: true });
    this.guards = new Guards(path.join(shared, 'locks'));
    this.pool = new WorkerPool(path.join(dist, options.worker ?? 'worker.js'), options.threads ?? 1);
    this.#fifos = new FifoStock(path.join(this.dir, 'fifos'));
    this.cleanup.defer(() => this.#fifos.close());
    this.cleanup.defer(() => this.pool.close());
  }

  close(): Promise<void> {
    return this.cleanup.run();
  }

  async run(spec: RigSpec, task: Partial<WorkerTask> = {}): Promise<RigRun & RigEnd> {
    const run = this.start(spec, task);
    return Object.assign(run, await run.ended);
  }

  start(spec: RigSpec, task: Partial<WorkerTask> = {}, paths: Partial<JobPaths> = {}): RigRun {
    const run = ++this.#runs;
    const full = jobSpecSchema.parse({
      run,
      attempt: 1,
      pipeline: 1,
      repository: 'team/app',
      trust: 'trusted',
      job: 'test',
      timeoutMs: 60_000,
      ...spec,
      steps: spec.steps.map((step, at) => ({
        kind: 'run',
        name: `s${at + 1}`,
        ...(typeof step === 'string' ? { run: step } : step),
      })),
      source: spec.source ? { ref: 'refs/heads/main', ...spec.source } : null,
    });
    const marker = `rig-${path.basename(this.dir)}/${run}`;
    const parent = this.#options.cgroup === false ? null : ownCgroup();
    const cgroup = parent && makeCgroup(parent, `vole-${path.basename(this.dir)}-${run}`);
    const settings = { marker, cgroup, ...this.#options.task, ...task };
    return new RigRun(
      full,
      settings,
      { ...this.#paths(full), ...paths },
      {
        pool: this.pool,
        guards: this.guards,
        fifos: this.#fifos,
        agentServer: this.#options.agentServer ?? (async () => ({ ok: false, why: 'the rig has none' })),
      },
    );
  }

  savedCheckout(url: string): string {
    return path.join(this.dir, 'git', `${savedCheckoutName('team/app', 'trusted', url)}.git`);
  }

  #paths(spec: JobSpec): JobPaths {
    const tree = path.join(this.dir, 'jobs', `${spec.run}-1.s`);
    const paths = {
      tree,
      src: path.join(tree, 'src'),
      tmp: path.join(tree, 'tmp'),
      spool: path.join(tree, 'log'),
      artifacts: path.join(tree, 'artifacts'),
      cache: path.join(this.dir, 'cache'),
      git: spec.source && this.savedCheckout(spec.source.url),
      tools: this.tools,
      home: this.home,
    };
    for (const dir of [paths.src, paths.tmp, paths.cache]) mkdirSync(dir, { recursive: true });
    return paths;
  }
}

interface RigParts {
  readonly pool: WorkerPool;
  readonly guards: Guards;
  readonly fifos: FifoStock;
  readonly agentServer: PortServices['agentServer'];
}

/** One run in the rig, and all that its worker said. */
export class RigRun {
  readonly spec: JobSpec;
  readonly paths: JobPaths;
  readonly cgroup: string | null;
  readonly ended: Promise<RigEnd>;
  /** Groups as they were announced and as they went. */
  readonly announced: number[] = [];
  readonly gonePgids: number[] = [];
  readonly announcedObjects: string[] = [];
  readonly artifacts: { name: string; path: string; bytes: number; sha256: string }[] = [];
  readonly spooled: number[] = [];
  /** What the worker wanted pushed. */
  readonly published: PublishRequest[] = [];
  /** What it is told of that; to be set by the test. */
  publish: PortEvents['publish'] = async () => ({
    state: 'failed',
    why: 'the rig pushes nothing',
  });
  readonly terminate: () => Promise<void>;
  readonly #port: WorkerPort;

  constructor(
    spec: JobSpec,
    over: Partial<WorkerTask> & { marker: string; cgroup: string | null },
    paths: JobPaths,
    parts: RigParts,
  ) {
    this.spec = spec;
    this.paths = paths;
    this.cgroup = over.cgroup;
    const start = performance.now();
    const processes = new ProcessesOfRun(over.marker, over.cgroup);
    const objects = new ObjectsOfRun(over.container?.engine ?? null, over.marker, {
      engineObject: (object) => void this.announcedObjects.push(object.name),
      engineObjectGone: () => {},
    });
    const { port1, port2 } = new MessageChannel();
    this.#port = new WorkerPort(
      port1,
      {
        guard: (name, mode, signal) => parts.guards[mode](name, { signal }),
        streams: () => parts.fifos.take(),
        agentServer: parts.agentServer,
      },
      {
        thread: () => {},
        process: (pgid) => {
          processes.announced(pgid);
          this.announced.push(pgid);
        },
        cgroupJoined: () => processes.cgroupJoined(),
        processGone: (pgid) => {
          processes.gone(pgid);
          this.gonePgids.push(pgid);
        },
        engineObject: (object) => objects.announced(object),
        spooled: (bytes) => this.spooled.push(bytes),
        artifact: (artifact) => this.artifacts.push(artifact),
        publish: (request, signal) => {
          this.published.push(request);
          return this.publish(request, signal);
        },
      },
    );
    const spool = SpoolReader.make(paths.spool);
    const task = parts.pool.run(
      {
        spawner: null,
        container: null,
        killGraceMs: 5_000,
        agent: null,
        masked: [],
        pipeGraceMs: 1_000,
        logLimitBytes: 64 * 1024 * 1024,
        artifactLimitBytes: 1024 * 1024 * 1024,
        baseEnv: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
        gitEnv: {},
        startedAt: Date.now(),
        ...over,
        streams: null,
        spoolFd: spool.fd,
        spec,
        paths,
        port: port2,
      },
      port2,
    );
    this.terminate = () => task.terminate();
    this.ended = task.ended.then(async (end) => {
      const ms = performance.now() - start;
      await this.#port.close();
      if (end.type === 'died') await task.terminate();
      const unannounced = end.type === 'died' || end.result.outcome.result === 'lost';
      const gone = await processes.end({ unannounced, boundMs: 10_000 });
      const left = await objects.end({ threadDied: end.type === 'died' });
      if (left !== null) throw new Error(`left in the engine: ${left}`);
      const threadDied = end.type === 'died';
      this.#port.takeBackStreams({ threadDied });
      if (threadDied) closeDescriptors((file) => file.startsWith(`${paths.tree}/`), [spool.fd]);
      this.#port.releaseGuards();
      spool.close();
      if (this.cgroup) await until('the cgroup to be removed', () => removeCgroup(this.cgroup ?? ''));
      return {
        end,
        ms,
        gone,
        get outcome() {
          if (end.type === 'died') throw new Error(`the worker thread died: ${end.why}`);
          return end.result.outcome;
        },
        get logBytes() {
          return end.type === 'result' ? end.result.logBytes : -1;
        },
      };
    });
  }

  cancel(reason: 'cancelled' | 'timeout' | 'interrupted' = 'cancelled', why = 'by the test'): void {
    this.#port.cancel(reason, why);
  }

  get spoolBytes(): number {
    return statSync(this.paths.spool, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Every line of the spool; fails where one is no record. */
  get records(): LogRecord[] {
    const lines = readFileSync(this.paths.spool, 'utf8').split('\n');
    if (lines.pop() !== '') throw new Error('the spool does not end with a newline');
    return lines.map((line) => {
      const record = parseRecord(line);
      if (!record) throw new Error(`no record: ${line.slice(0, 200)}`);
      return record;
    });
  }

  /** The text of one stream, a line an entry, continued records joined. */
  lines(stream: LogRecord['stream'], step = 1): string[] {
    const lines: string[] = [];
    let open = '';
    for (const record of this.records) {
      if (record.stream !== stream || record.step !== step) continue;
      open += record.text;
      if (record.continues) continue;
      lines.push(open);
      open = '';
    }
    if (open !== '') throw new Error('the last record continues in none');
    return lines;
  }

  /** Waits until the log has this text, in other lines than those that show what a step will execute. */
  async logged(text: string): Promise<void> {
    await until(`the log to have ${text}`, () => {
      const lines = this.spoolBytes > 0 ? readFileSync(this.paths.spool, 'utf8').split('\n') : [];
      return lines.some((line) => line.includes(text) && !/^\d+ \d+ v (?:step \d+: | {2}\$ )/.test(line));
    });
  }
}
