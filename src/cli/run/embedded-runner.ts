import os from 'node:os';
import path from 'node:path';
import type { RunnerLog, RunnerOptions } from '../../runner/options.ts';
import { newKeyPair } from '../../runner/session/keys.ts';
import type { RunningServer } from '../../server/server.ts';
import { parsePublicKey } from '../../shared/public-key.ts';
import type { Settings } from '../../shared/settings/types.ts';
import type { CliContext } from '../context.ts';
import { baseEnv, engineEnv, hostFacts, limitsOf, processName } from '../runner/runner-options.ts';
import { version } from '../version.ts';

const ACCOUNT = 'here';

/** Where caches and saved checkouts of `vole run` stay from one run to the next. */
export function defaultDir(context: CliContext): string {
  const base = context.env['XDG_CACHE_HOME'] || path.join(os.homedir(), '.cache');
  return path.join(base, 'vole');
}

/** Options of a runner in the process of its server, with a key that lives no longer than both. */
export async function embeddedRunner(
  server: RunningServer,
  settings: Settings<'run'>,
  context: CliContext,
  log: RunnerLog,
): Promise<RunnerOptions> {
  const key = newKeyPair();
  const parsed = parsePublicKey(key.publicKey);
  if (!parsed.ok) throw new Error(parsed.fault);
  await server.store.accounts.addKey(ACCOUNT, parsed.key.publicKey, parsed.key.fingerprint);
  const facts = hostFacts(settings.jobs);
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
      labels: [],
      repos: [],
      cpus: facts.cpus,
      memoryBytes: facts.memoryBytes,
    },
    dir: settings.dir ?? defaultDir(context),
    jobs: settings.jobs,
    once: false,
    exitStatus: false,
    leaseWaitMs: 60_000,
    ...limitsOf(settings),
    agent: null,
    hostJobs: 'always', // it is the person's own machine and tree
    baseEnv: baseEnv(context, settings.jobEnv),
    engineEnv: engineEnv(context),
    log,
  };
}
