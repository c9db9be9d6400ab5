import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import ssh2 from 'ssh2';
import { gatherWrites } from '../../shared/protocol/gather-writes.ts';
import { PROTOCOL_VERSION } from '../../shared/protocol/messages.ts';
import { SSH_ALGORITHMS } from '../../shared/protocol/ssh-algorithms.ts';
import type { ArtifactFiles, LogFiles } from '../logs/log-files.ts';
import type { Publishing } from '../publish/publisher.ts';
import type { LeaseQueue, Presence } from '../queue/queue.ts';
import type { RunEventHub } from '../queue/run-event-hub.ts';
import type { Store } from '../store/store.ts';
import { Admission } from './admission.ts';
import { Connection, type EndpointLog } from './connection.ts';
import { loadHostKey } from './host-key.ts';
import { ENDPOINT_LIMITS, type EndpointLimits } from './limits.ts';
import { SessionRegistry } from './registry.ts';

export interface EndpointOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Made where it is not there. */
  readonly hostKeyFile: string;
  readonly store: Store;
  readonly queue: Pick<LeaseQueue, 'freed' | 'lease'>;
  /** The one that the store was opened with. */
  readonly events: Pick<RunEventHub, 'onKeysRemoved'>;
  readonly logs: LogFiles;
  readonly artifacts: ArtifactFiles;
  readonly publisher: Publishing;
  readonly serverId: string;
  readonly leaseMs: number;
  readonly maxSessions: number;
  readonly maxSessionsPerAccount: number;
  readonly log: EndpointLog;
  readonly limits?: Partial<EndpointLimits>;
  /** Another version than this build's, for tests. */
  readonly protocol?: number;
}

export interface SshEndpoint extends Presence {
  readonly host: string;
  readonly port: number;
  /** Of the host key, `SHA256:...`. */
  readonly fingerprint: string;
  /** Ends all connections; resolves when what was being answered is done. Idempotent. */
  close(): Promise<void>;
}

/**
 * Where runners connect. Rejects with a `VoleError` for a bad host key, and with the system's error
 * where it cannot listen.
 */
export async function startSshEndpoint(options: EndpointOptions): Promise<SshEndpoint> {
  const hostKey = await loadHostKey(options.hostKeyFile);
  const limits = { ...ENDPOINT_LIMITS, ...options.limits };
  const { store, queue, logs, artifacts, publisher, serverId, leaseMs, log } = options;
  const registry = new SessionRegistry({
    sessions: options.maxSessions,
    sessionsOfAccount: options.maxSessionsPerAccount,
  });
  const protocol = options.protocol ?? PROTOCOL_VERSION;
  const services = {
    store,
    queue,
    logs,
    artifacts,
    publisher,
    registry,
    serverId,
    leaseMs,
    protocol,
    now: Date.now,
    limits,
  };
  const admission = new Admission(limits);
  /** By the peer's address and port: ssh2 does not say which socket a connection is on. */
  const connections = new Map<string, Connection>();
  const live = new Set<Connection>();

  const ssh = new ssh2.Server({
    hostKeys: [hostKey.privateKey],
    algorithms: mutable(SSH_ALGORITHMS),
    ident: 'vole',
    keepaliveInterval: limits.keepaliveMs,
    keepaliveCountMax: limits.keepaliveCount,
  });
  ssh.on('error', () => {});
  ssh.on('connection', (connection, { ip, port }) => {
    const known = connections.get(`${ip}|${port}`);
    if (known) return known.attach(connection);
    connection.on('error', () => {}); // its socket has closed meanwhile
    return connection.end();
  });

  const server = createServer({ noDelay: true }, (socket: Socket) => {
    const leave = admission.enter(socket.remoteAddress ?? '');
    const id = `${socket.remoteAddress}|${socket.remotePort}`;
    if (!leave || connections.has(id)) {
      leave?.();
      socket.on('error', () => {});
      return socket.destroy();
    }
    gatherWrites(socket);
    const connection = new Connection(socket, { services, limits, log, leave });
    connections.set(id, connection);
    live.add(connection);
    void connection.closed.then(() => live.delete(connection));
    socket.once('close', () => connections.delete(id));
    return ssh.injectSocket(socket);
  });
  await listen(server, options);
  server.on('error', () => {}); // such as EMFILE at an accept: the next one may do
  const { port } = server.address() as AddressInfo;
  const unsubscribe = options.events.onKeysRemoved(() => {
    for (const connection of live) connection.keysRemoved();
  });

  const close = async () => {
    unsubscribe();
    const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
    const open = [...live];
    for (const connection of open) connection.destroy();
    await Promise.race([Promise.all(open.map((connection) => connection.closed)), after(CLOSE_MS)]);
    await stopped;
  };
  let closing: Promise<void> | null = null;
  return {
    host: options.host,
    port,
    fingerprint: hostKey.fingerprint,
    sessions: () => registry.sessions(),
    close: () => (closing ??= close()),
  };
}

/** A disk that hangs must not keep the server from ending. */
const CLOSE_MS = 5_000;

async function after(ms: number): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
}

async function listen(server: NetServer, at: { host: string; port: number }): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

type Lists<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : never };

function mutable<T extends Readonly<Record<string, readonly unknown[]>>>(lists: T): Lists<T> {
  return Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, [...list]])) as Lists<T>;
}
