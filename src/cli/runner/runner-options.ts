import { randomBytes } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunnerLog, RunnerOptions } from '../../runner/options.ts';
import { connect } from '../../runner/session/connect.ts';
import { hostKeysFrom, readPrivateKey } from '../../runner/session/keys.ts';
import { backoffMs } from '../../runner/session/reconnect.ts';
import { AGENT_LABEL } from '../../shared/agent/spec.ts';
import { VoleError } from '../../shared/errors.ts';
import { gitEnvOf } from '../../shared/git-env.ts';
import type { Settings } from '../../shared/settings/types.ts';
import { baseEnv } from '../base-env.ts';
import type { CliContext } from '../context.ts';
import { version } from '../version.ts';
import { agentOptions } from './agent-options.ts';
import { parseServerUrl } from './server-url.ts';

/** Files of the built program stand beside the one that runs. */
function builtFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** What an engine's client reads: where it finds itself, its settings, and the engine. */
const ENGINE_ENV =
  /^(PATH|HOME|USER|TMPDIR|XDG_RUNTIME_DIR|XDG_CONFIG_HOME|XDG_DATA_HOME|DBUS_SESSION_BUS_ADDRESS|SSH_AUTH_SOCK|(HTTPS?|NO|ALL)_PROXY|DOCKER_\w+|CONTAINERS?_\w+|REGISTRY_AUTH_FILE|BUILDKIT_\w+)$/i;

export function engineEnv({ env }: Pick<CliContext, 'env'>): Record<string, string> {
  const given = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && ENGINE_ENV.test(name) ? [[name, value]] : [],
  );
  return { PATH: '/usr/local/bin:/usr/bin:/bin', ...Object.fromEntries(given) };
}

/** What is the same for `vole runner` and the runner within `vole run`. */
export function hostFacts(
  jobs: number,
): Pick<
  RunnerOptions,
  | 'cpus'
  | 'memoryBytes'
  | 'home'
  | 'workerFile'
  | 'fileThreadFile'
  | 'spawnerFile'
  | 'searchFile'
  | 'backoffMs'
  | 'connect'
> {
  return {
    cpus: Math.max(os.availableParallelism(), jobs),
    memoryBytes: os.totalmem(),
    home: os.homedir(),
    workerFile: builtFile('worker.js'),
    fileThreadFile: builtFile('file-thread.js'),
    spawnerFile: builtFile('spawner.js'),
    searchFile: builtFile('search.js'),
    backoffMs: (tries) => backoffMs(tries, Math.random()),
    connect,
  };
}

/** Of this process: tells its sessions from those of its siblings on the same host. */
export function processName(): string {
  return `${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** The bounds that `vole runner` and `vole run` are both given. */
export function limitsOf(
  settings: Settings<'runner'> | Settings<'run'>,
): Pick<
  RunnerOptions,
  | 'noCache'
  | 'cacheSize'
  | 'gitSize'
  | 'minFree'
  | 'trimIntervalMs'
  | 'drainTimeoutMs'
  | 'killGraceMs'
  | 'logLimitBytes'
  | 'artifactLimitBytes'
  | 'engine'
  | 'container'
  | 'imageKeep'
> {
  return {
    noCache: settings.noCache,
    cacheSize: settings.cacheSize,
    gitSize: settings.gitSize,
    minFree: settings.minFree,
    trimIntervalMs: settings.trimInterval,
    drainTimeoutMs: settings.drainTimeout,
    killGraceMs: settings.killGrace,
    logLimitBytes: settings.logLimit,
    artifactLimitBytes: settings.artifactLimit,
    engine: settings.engine,
    imageKeep: settings.imageKeep,
    container: {
      limits: {
        memoryBytes: settings.containerMemory,
        cpus: settings.containerCpus,
        pids: settings.containerPids || null,
      },
      user: settings.containerUser,
      pull: settings.imagePull,
      serviceTimeoutMs: settings.serviceTimeout,
    },
  };
}

/** What begins with `vole:` is for vole to give. */
function ownLabels(labels: readonly string[]): readonly string[] {
  const taken = labels.find((label) => label.startsWith('vole:'));
  if (taken === undefined) return labels;
  throw new VoleError(
    'usage',
    `--labels: '${taken}' is not allowed; use labels that do not begin with vole:, those are given by vole itself`,
  );
}

export function runnerOptions(
  settings: Settings<'runner'>,
  context: CliContext,
  log: RunnerLog,
): RunnerOptions {
  const server = parseServerUrl(settings.server);
  const labels = ownLabels(settings.labels);
  const agent = agentOptions(settings);
  const facts = hostFacts(settings.jobs);
  const cpus = settings.cpus ?? facts.cpus;
  const memoryBytes = settings.memory ?? facts.memoryBytes;
  return {
    ...facts,
    endpoint: {
      ...server,
      privateKey: readPrivateKey(settings.key),
      hostKeys: hostKeysFrom(settings.hostKey, context.cwd),
    },
    hello: {
      version: version(),
      machine: settings.machine ?? os.hostname(),
      process: processName(),
      slots: settings.jobs,
      labels: [...labels, ...(agent ? [AGENT_LABEL] : [])],
      repos: [...settings.repos],
      cpus,
      memoryBytes,
    },
    cpus,
    memoryBytes,
    dir: path.resolve(context.cwd, settings.dir),
    jobs: settings.jobs,
    once: settings.once,
    exitStatus: settings.exitStatus,
    leaseWaitMs: settings.leaseWait,
    ...limitsOf(settings),
    agent,
    hostJobs: settings.hostJobs,
    keepUnreported: true,
    baseEnv: baseEnv(context, settings.jobEnv),
    engineEnv: engineEnv(context),
    gitEnv: gitEnvOf(context.env),
    log,
  };
}
