import { oneLine } from '../shared/errors.ts';
import { systemClock } from '../shared/platform/clock.ts';
import type { Address, Settings } from '../shared/settings/types.ts';
import { adminTokenOf, DataDir, removeServerFile, writeServerFile } from './data-dir.ts';
import { openArtifactFiles } from './logs/open.ts';
import { openData } from './open-data.ts';
import { git } from './pipelines/git.ts';
import { Pipelines } from './pipelines/pipelines.ts';
import { openLeaseQueue } from './queue/open.ts';
import type { Presence } from './queue/queue.ts';
import { RunEventHub } from './queue/run-event-hub.ts';
import { startSshEndpoint } from './ssh/endpoint.ts';
import type { Store } from './store/store.ts';
import { policyFor } from './web/access.ts';
import { createApp } from './web/app.ts';
import { listenHttp } from './web/http-endpoint.ts';

/** The server's own log. `facts` first, as pino has it. */
export interface ServerLog {
  debug(facts: object, text: string): void;
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
}

export interface ServerOptions {
  readonly settings: Omit<Settings<'server'>, 'logLevel'>;
  readonly version: string;
  readonly log: ServerLog;
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
  /** Ends what was started, in reverse order, within a few seconds. Idempotent. */
  close(): Promise<void>;
}
