import { homedir } from 'node:os';
import { oneLine, VoleError } from '../shared/errors.ts';
import { systemClock } from '../shared/platform/clock.ts';
import type { Address, Settings } from '../shared/settings/types.ts';
import { controlWorker } from './control/open.ts';
import { adminTokenOf, DataDir, removeServerFile, writeServerFile } from './data-dir.ts';
import { EventWork } from './events/event-work.ts';
import { ForgeClients } from './forges/clients.ts';
import { ForgeAdmin } from './forges/forge-admin.ts';
import { ForgeSettings } from './forges/settings.ts';
import { Intake } from './hooks/intake.ts';
import { hookSourceOf } from './hooks/source.ts';
import { openArtifactFiles, openLogFiles } from './logs/open.ts';
import { openData } from './open-data.ts';
import { gitWith } from './pipelines/git.ts';
import { Mirrors } from './pipelines/mirrors.ts';
import { Pipelines } from './pipelines/pipelines.ts';
import { Publisher } from './publish/publisher.ts';
import { openLeaseQueue } from './queue/open.ts';
import type { LeaseQueue, Presence } from './queue/queue.ts';
import { RunEventHub } from './queue/run-event-hub.ts';
import { Releasers } from './releasers.ts';
import { startSshEndpoint } from './ssh/endpoint.ts';
import type { Store } from './store/store.ts';
import { policyFor } from './web/access.ts';
import { createApp } from './web/app.ts';
import { addressText, listenFault, listenHttp, reachable } from './web/http-endpoint.ts';

/** The server's own log, as pino has it: facts first. */
export interface ServerLog {
  debug(facts: object, text: string): void;
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
}

export interface ServerOptions {
  readonly settings: Omit<Settings<'server'>, 'logLevel' | 'logFormat'>;
  readonly version: string;
  readonly log: ServerLog;
  /** The environment that git finds its keys and proxies in; a plain one by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Secrets by name of every repository's trusted runs, kept in memory alone. */
  readonly secrets?: Readonly<Record<string, string>>;
}

export interface RunningServer {
  readonly http: { readonly host: string; readonly port: number; readonly url: string };
  readonly ssh: Address;
  /** Of the SSH host key, `SHA256:...`. */
  readonly fingerprint: string;
  /** The admin token. */
  readonly token: string;
  readonly serverId: string;
  readonly store: Store;
  readonly presence: Presence;
  /** Calls back at each change of a run. */
  readonly queue: Pick<LeaseQueue, 'onChange'>;
  /** Ends what was started, in reverse order, within a few seconds. Idempotent. */
  close(): Promise<void>;
}

/**
 * Puts a server together and starts it. It may share its process with a runner (`vole run`), so it
 * handles no signals and changes nothing of the process. Where something does not start, what had
 * started is closed again and a `VoleError` says what.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log } = options;
  const releasers = new Releasers((what, error) =>
    log.error({ what, error: oneLine(error) }, 'could not be closed'),
  );
  try {
    return await start(options, releasers);
  } catch (error) {
    await releasers.close();
    throw error;
  }
}

async function start(options: ServerOptions, releasers: Releasers): Promise<RunningServer> {
  const { settings, version, log } = options;
  const dir = new DataDir(settings.data);
  const events = new RunEventHub();
  const data = await openData(dir, events, options.secrets);
  releasers.add('data directory', () => data.close());
  const { store, secrets, serverId } = data;
  const token = await adminTokenOf(dir);
  const queue = await openLeaseQueue({
    runs: store.runs,
    events,
    secretsFor: (repository: string) => secrets.secretsFor(repository),
    leaseMs: settings.leaseTime,
    maxCommands: settings.maxConcurrentCommands,
    keepRoomAfterMs: settings.keepRoomAfter,
    onFault: (error, where) => log.error({ err: error, where }, 'the queue met a fault'),
  });
  releasers.add('queue', () => queue.close());
  const logs = openLogFiles(dir.logs, store.smallLogs);
  releasers.add('logs', () => logs.close());
  const artifacts = openArtifactFiles(dir.artifacts);
  releasers.add('artifacts', () => artifacts.close());
  const mirrors = new Mirrors(dir.mirrors, gitWith(options.env ?? { HOME: homedir() }));
  const pipelines = new Pipelines(store, mirrors);
  const clients = new ForgeClients({ forges: store.forges, clock: systemClock });
  const publisher = new Publisher({
    store,
    mirrors,
    clients,
    artifacts,
    secrets,
    hub: events,
    onFault: (error, where) => log.error({ err: error, where }, 'publishing met a fault'),
  });
  releasers.add('publishing', () => publisher.close());
  const agentClients = settings.agent ? clients : null;
  const work = new EventWork({ store, mirrors, agentClients, hub: events, log });
  releasers.add('events', () => work.close());
  // before the events and what is published, which wait for git and the forges
  releasers.add('mirrors', () => {
    clients.close();
    return mirrors.close();
  });
  const forgeSettings = new ForgeSettings(store.forges, secrets);

  const ssh = await startSshEndpoint({
    ...settings.ssh,
    hostKeyFile: dir.hostKey,
    store,
    queue,
    events,
    logs,
    artifacts,
    publisher,
    serverId,
    leaseMs: settings.leaseTime,
    maxSessions: settings.sshMaxConnections,
    maxSessionsPerAccount: settings.sshMaxConnectionsPerAccount,
    log,
  }).catch((error: unknown) => {
    throw error instanceof VoleError ? error : listenFault('SSH', '--ssh', settings.ssh, error);
  });
  releasers.add('SSH endpoint', () => ssh.close());

  let { publicUrl } = settings;
  const closing = new AbortController();
  const app = createApp({
    store,
    queue,
    logs,
    artifacts,
    presence: ssh,
    secrets,
    forges: new ForgeAdmin({
      forges: store.forges,
      settings: forgeSettings,
      clients,
      publicUrl: () => publicUrl ?? '',
    }),
    pipelines,
    mirrors,
    intake: new Intake({
      events: store.events,
      sourceOf: (repository) => hookSourceOf(repository, store, forgeSettings),
      commandWord: settings.commandWord,
      log,
      onEvent: () => work.received(),
    }),
    access: policyFor(settings.http.host, token),
    clock: systemClock,
    closing: closing.signal,
    onFault: (error, where) => log.error({ err: error, where }, 'a request failed'),
  });
  const http = await listenHttp(app, settings.http);
  releasers.add('HTTP', async () => {
    closing.abort();
    await http.close();
  });

  publicUrl ??= http.url;
  const control = controlWorker({
    store,
    clients,
    secrets,
    events,
    publicUrl,
    clock: systemClock,
    random: Math.random,
    onFault: (error, where) => log.error({ err: error, where }, 'control work met a fault'),
    onDead: ({ id, kind, repository }, why) =>
      log.warn({ task: id, kind, repository, why }, 'a control task is given up: `vole tasks` shows it'),
  });
  await control.start();
  releasers.add('control work', async () => {
    clients.close();
    await control.close();
  });

  const sshAddress = { host: ssh.host, port: ssh.port };
  await writeServerFile(dir, {
    http: http.url,
    ssh: addressText(reachable(sshAddress)),
    token,
    fingerprint: ssh.fingerprint,
    pid: process.pid,
  });
  releasers.add('server.json', () => removeServerFile(dir));
  log.info({ version, server: serverId, http: http.url, ssh: addressText(sshAddress) }, 'listening');
  return {
    http: { host: http.host, port: http.port, url: http.url },
    ssh: reachable(sshAddress),
    fingerprint: ssh.fingerprint,
    token,
    serverId,
    store,
    presence: ssh,
    queue,
    close: () => releasers.close(),
  };
}
