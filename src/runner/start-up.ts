import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { AgentService } from '../shared/agent/options.ts';
import { counted } from '../shared/counted.ts';
import { VoleError } from '../shared/errors.ts';
import { ownCgroup } from '../shared/platform/cgroup.ts';
import { runCommand } from '../shared/platform/commands.ts';
import { FifoStock } from '../shared/platform/fifos.ts';
import { openFilesAmple, openFilesLimit, openFilesNeeded } from '../shared/platform/open-files.ts';
import { AgentServer } from './agent/agent-server.ts';
import { hostKind, missingPackage } from './agent/opencode-binary.ts';
import { Namespaces } from './cache/namespaces.ts';
import { OwnersOf } from './cache/owners-of.ts';
import { SavedCheckouts } from './cache/saved-checkouts.ts';
import { TrimTicker } from './cache/trim-ticker.ts';
import { Trimmer } from './cache/trimmer.ts';
import { FileThreads } from './dir/file-threads.ts';
import { LeaseKeys } from './dir/lease-keys.ts';
import { openDir } from './dir/open-dir.ts';
import { ProcessSeats } from './dir/process-seats.ts';
import { Trash } from './dir/trash.ts';
import { BuiltImages } from './engine/built-images.ts';
import { chooseEngine } from './engine/choose-engine.ts';
import { imagesUsed } from './engine/late-helper.ts';
import { rootHelper } from './engine/root-helper.ts';
import type { RunnerOptions } from './options.ts';
import { WorkerPool } from './pool/pool.ts';
import { Spawner } from './pool/spawner.ts';
import { probe } from './probe.ts';
import { Afterwards } from './runs/afterwards.ts';
import { cgroupName, JobCgroups } from './runs/job-cgroups.ts';
import { roomMaker } from './runs/job-room.ts';
import { JobTrees } from './runs/job-trees.ts';
import type { RunServices } from './runs/run-in-flight.ts';
import { sweep } from './sweep/sweep.ts';

/** How long a step's pipes may stay open after its process has exited. */
const PIPE_GRACE_MS = 2_000;

/** A host that lacks one would fail every run that it takes. */
async function needTools(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const found = await runCommand(name, ['--version'], { timeoutMs: 10_000 });
    if (found.missing) {
      const where = `${name} is not on this host, or not in PATH`;
      throw new VoleError('missing-tool', `${where}: install it; \`vole doctor\` says what else is missing`);
    }
  }
}

/** With too few, runs would fail at whatever needs the next one, and in the end the process. */
function needOpenFiles(jobs: number): void {
  const limit = openFilesLimit();
  if (limit === null || limit >= openFilesNeeded(jobs)) return;
  const what = `this process may open ${limit} files, and --jobs ${jobs} needs ${openFilesNeeded(jobs)}`;
  const how = `raise the hard limit (\`ulimit -Hn\`, LimitNOFILE= of a unit) to ${openFilesAmple(jobs)}`;
  throw new VoleError('runner-refused', `${what}: ${how}, or lower --jobs`);
}

function keysOf(service: AgentService | undefined): string[] {
  return [service?.key, service?.context7Key].filter((key) => typeof key === 'string');
}

/** The same for agents, where this runner is to have them. */
function needAgent(): void {
  const missing = missingPackage(hostKind(process.arch, readFileSync('/proc/cpuinfo', 'utf8')));
  if (missing !== null) throw new VoleError('missing-tool', `for --agent-url: ${missing}`);
}

/** What the slots of a process share, ready for use. */
export interface HostServices {
  readonly runs: RunServices;
  /** The container engine's name, or `none`. */
  readonly engine: string;
  /** Resolves when the disk has room for another run, or the signal aborts. */
  room(signal: AbortSignal): Promise<void>;
  /** Whether it has now. */
  hasRoom(): boolean;
  /** Where the next start finds it, should this process be killed; false where it cannot be written. */
  noteLease(slot: number, key: string): boolean;
  /** What it noted last is left to the next start, though this process ends by itself. */
  leaveLease(slot: number): void;
  /** Looks at the disk now, for a run has just found it full. */
  lookAtDisk(): void;
  close(): Promise<void>;
}

/**
 * Everything before the slots, once a process and before its first lease, in this order: the
 * programs it needs, the directory, the engine, what dead processes left, the saved checkouts, the caches (with
 * `--no-cache`), and a probe of the server, which also hears of the dead processes' runs. Null where
 * the process was told to end meanwhile. Throws a VoleError where it cannot start.
 */
export async function prepareHost(options: RunnerOptions, signal: AbortSignal): Promise<HostServices | null> {
  const { log } = options;
  const step = (name: string): void => log.debug({ step: name }, 'start-up');
  const warn = (line: string): void => log.warn({}, line);

  step('tools');
  await needTools(['git', 'mkfifo']);
  needOpenFiles(options.jobs);
  if (options.agent) needAgent();
  step('directory');
  const dir = await openDir(options.dir);
  const files = new FileThreads(options.fileThreadFile);
  const trash = new Trash(dir.layout.trash, files, warn);
  const owners = new OwnersOf(dir.layout.jobs);
  const namespaces = new Namespaces(dir, trash, owners);
  const saved = new SavedCheckouts(dir, trash, owners);
  const limits = { cacheSize: options.cacheSize, gitSize: options.gitSize, minFree: options.minFree };
  const trimmer = new Trimmer({ dir, namespaces, saved, files, trash, limits, log });

  // Tells every sweep that this process lives, whatever its pid means elsewhere.
  const alive = new ProcessSeats(dir).take(options.hello.process);
  const own = path.join(dir.layout.fifos, options.hello.process);
  const fifos = new FifoStock(path.join(own, 'pipes'));

  step('engine');
  const engine = await chooseEngine(options.engine, options.engineEnv, log);
  const images = imagesUsed(namespaces);
  const built = new BuiltImages(dir, engine, options.imageKeep, images, warn);
  if (engine && process.getuid?.() !== 0) {
    trash.helpedBy(rootHelper(engine, images, { directory: dir.id, process: options.hello.process }));
  }
  step('sweep');
  const swept = await sweep(dir, trash, options.hello.process, { facts: engine, env: options.engineEnv });
  for (const line of [...swept.lines, ...(await built.sweep())]) log.info({}, line);
  built.trimSoon();
  step('saved checkouts');
  const { removed, ...tidied } = saved.tidy();
  if (removed.length > 0) {
    log.info({ removed }, `removed ${counted(removed.length, 'file')} that a killed git left in git/`);
  }
  log.debug(tidied, 'tidied the saved checkouts');
  if (options.noCache) {
    step('clear cache');
    const cleared = await trimmer.clearFree();
    log.info({ removed: cleared.removed.length, inUse: cleared.busy.length }, 'cleared the cache');
  }
  step('probe');
  let server: string | null = null;
  try {
    server = await probe(options, engine?.name ?? 'none', swept, signal);
  } finally {
    if (server === null) {
      await built.close();
      alive.release();
      await files.close();
    }
  }
  if (server === null) return null;

  const cgroups = new JobCgroups(ownCgroup(), cgroupName(dir.id, options.hello.process));
  const leaseKeys = new LeaseKeys(own, { server, account: options.endpoint.account });
  const trees = new JobTrees(dir, trash, own, options.jobs);
  const spawner = new Spawner(options.spawnerFile, path.join(own, 'spawner'));
  const agents =
    options.agent &&
    new AgentServer({
      dir,
      process: options.hello.process,
      ...options.agent,
      searchFile: options.searchFile,
      path: options.baseEnv['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
      say: (facts, line) => log.info(facts, line),
      warn: (facts, line) => log.warn(facts, line),
    });
  const pool = new WorkerPool(options.workerFile, options.jobs);
  const afterwards = new Afterwards(options.jobs);
  const ticker = new TrimTicker(trimmer, options.trimIntervalMs, log);
  ticker.start();
  return {
    room: (leaving) => ticker.room(leaving),
    hasRoom: () => ticker.hasRoom,
    noteLease: (slot, key) => leaseKeys.note(slot, key),
    leaveLease: (slot) => {
      if (options.keepUnreported) leaseKeys.leave(slot);
    },
    lookAtDisk: () => ticker.look(),
    engine: engine?.name ?? 'none',
    runs: {
      engine,
      afterwards,
      pool,
      spawner: () => spawner.socket(),
      guard: (name, mode, waiting) => dir.guards[mode](name, { signal: waiting }),
      streams: () => fifos.take(),
      agentServer: async () =>
        (await agents?.access()) ?? { ok: false, why: 'this runner does no agent runs' },
      makeRoom: roomMaker({ dir, trees, namespaces, saved, server, options, cgroups, engine, images, built }),
      agentLeave: async (workspace) => await agents?.leave(workspace),
      task: {
        agent: options.agent?.options ?? null,
        masked: keysOf(options.agent?.service),
        killGraceMs: options.killGraceMs,
        pipeGraceMs: PIPE_GRACE_MS,
        logLimitBytes: options.logLimitBytes,
        artifactLimitBytes: options.artifactLimitBytes,
        baseEnv: options.baseEnv,
        gitEnv: options.gitEnv,
      },
      hostJobs: options.hostJobs,
      onThread: (spec, thread) => log.debug({ run: spec.run, attempt: spec.attempt, thread }, 'on thread'),
      warn,
    },
    close: async () => {
      ticker.stop();
      await pool.close();
      await agents?.close();
      await afterwards.close();
      await built.close();
      await spawner.close();
      trees.close();
      await fifos.close();
      if (!leaseKeys.close()) rmSync(own, { recursive: true, force: true });
      cgroups.close();
      await trash.settled();
      await files.close();
      alive.release();
    },
  };
}
