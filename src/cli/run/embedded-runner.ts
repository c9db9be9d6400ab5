import os from 'node:os';
import type { RunnerLog, RunnerOptions } from '../../runner/options.ts';
import { newKeyPair } from '../../runner/session/keys.ts';
import type { RunningServer } from '../../server/server.ts';
import type { ApiRun } from '../../shared/api.ts';
import { gitEnvOf } from '../../shared/git-env.ts';
import { parsePublicKey } from '../../shared/public-key.ts';
import type { Settings } from '../../shared/settings/types.ts';
import { formatBytes } from '../../shared/units.ts';
import { baseEnv } from '../base-env.ts';
import type { CliContext } from '../context.ts';
import { defaultDir } from '../default-dir.ts';
import { engineEnv, hostFacts, limitsOf, processName } from '../runner/runner-options.ts';
import { version } from '../version.ts';

const ACCOUNT = 'here';

/** Lines that say what this host is taken for, though it may not be that. */
export function strangeWants(runs: readonly (Wants & { job: string })[], jobs: number): string[] {
  const host = hostFacts(jobs);
  const labels = [...new Set(runs.flatMap((run) => run.labels))];
  const large = runs.filter(({ cpus, memoryBytes }) => cpus > host.cpus || memoryBytes > host.memoryBytes);
  const [first] = large;
  const others = large.length - 1;
  const has = `${host.cpus} cores and ${formatBytes(host.memoryBytes)}`;
  return [
    ...(labels.length > 0 ? [`labels are not looked at here: ${labels.join(', ')}`] : []),
    ...(first ? [`${first.job}${tooMuch(others, has)}`] : []),
  ];
}

function tooMuch(others: number, has: string): string {
  const than = `more than this host has (${has})`;
  return others > 0
    ? ` and ${others} more want ${than}, and each runs alone`
    : ` wants ${than}, and runs alone`;
}

/** What the jobs of a pipeline want of a host at most. */
export type Wants = Pick<ApiRun, 'labels' | 'cpus' | 'memoryBytes'>;

/**
 * Options of a runner in the process of its server, with a key that lives no longer than both. It takes every job
 * that is asked for: there is no other host that it could wait for.
 */
export async function embeddedRunner(
  server: RunningServer,
  runs: readonly Wants[],
  settings: Settings<'run'>,
  context: CliContext,
  log: RunnerLog,
): Promise<RunnerOptions> {
  const key = newKeyPair();
  const parsed = parsePublicKey(key.publicKey);
  if (!parsed.ok) throw new Error(parsed.fault);
  await server.store.accounts.addKey(ACCOUNT, parsed.key.publicKey, parsed.key.fingerprint);
  const host = hostFacts(settings.jobs);
  const cpus = Math.max(host.cpus, ...runs.map((run) => run.cpus));
  const memoryBytes = Math.max(host.memoryBytes, ...runs.map((run) => run.memoryBytes));
  const facts = { ...host, cpus, memoryBytes };
  return {
    ...facts,
    endpoint: {
      ...server.ssh,
      account: ACCOUNT,
      privateKey: key.privateKey,
      hostKeys: [server.fingerprint],
    },
    hello: {
      version: version(),
      machine: os.hostname(),
      process: processName(),
      slots: settings.jobs,
      labels: [...new Set(runs.flatMap(({ labels }) => labels))],
      repos: [],
      cpus: facts.cpus,
      memoryBytes: facts.memoryBytes,
    },
    dir: settings.dir ?? defaultDir(context),
    jobs: settings.jobs,
    once: false,
    exitStatus: false,
    keepUnreported: false, // the server ends with us
    leaseWaitMs: 60_000,
    ...limitsOf(settings),
    agent: null,
    hostJobs: 'always', // it is the person's own machine and tree
    baseEnv: baseEnv(context, settings.jobEnv),
    engineEnv: engineEnv(context),
    gitEnv: gitEnvOf(context.env),
    log,
  };
}
