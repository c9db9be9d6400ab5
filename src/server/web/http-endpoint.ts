import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Hono } from 'hono';
import { oneLine, VoleError } from '../../shared/errors.ts';
import type { Address } from '../../shared/settings/types.ts';

export interface HttpEndpoint {
  readonly host: string;
  readonly port: number;
  /** Where this machine reaches it, without a slash at its end. */
  readonly url: string;
  /** Lets replies under way end for a bounded time, then breaks them. */
  close(): Promise<void>;
}

const DRAIN_MS = 2_000;
const MAX_CONNECTIONS = 2_000;

/** Where this machine reaches what listens there: on every address means on loopback too. */
export function reachable(at: Address): Address {
  if (at.host === '0.0.0.0') return { ...at, host: '127.0.0.1' };
  return at.host === '::' ? { ...at, host: '::1' } : at;
}

export function addressText({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function urlOf(at: Address): string {
  return `http://${addressText(reachable(at))}`;
}

export async function listenHttp(app: Hono, at: Address): Promise<HttpEndpoint> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    // this process is the embedder's: its globals stay as they are
    overrideGlobalObjects: false,
    serverOptions: { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 5_000 },
  }) as Server;
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFault('HTTP', '--http', at, error)));
    server.listen(at.port, at.host, resolve);
  });
  server.on('error', () => {}); // such as EMFILE at an accept: the next one may do
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | null = null;
  return {
    host: at.host,
    port,
    url: urlOf({ host: at.host, port }),
    close: () => (closing ??= closeServer(server)),
  };
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  // one that goes idle while it drains would be kept alive until its timeout
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  await closed;
  clearTimeout(timer);
  clearInterval(idle);
}

/** One line for an address that cannot be listened on. */
export function listenFault(what: string, flag: string, at: Address, error: unknown): VoleError {
  const address = addressText(at);
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new VoleError(
        'lock-held',
        `${what} address ${address} is in use: choose another ${flag}, or port 0`,
        {
          cause: error,
        },
      );
    case 'EACCES':
      return new VoleError('usage', `${flag} ${address}: this user may not listen there`, { cause: error });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new VoleError('usage', `${flag} ${address}: this host has no such address`, { cause: error });
    default:
      return new VoleError('io-error', `cannot listen on ${flag} ${address}: ${oneLine(error)}`, {
        cause: error,
      });
  }
}
