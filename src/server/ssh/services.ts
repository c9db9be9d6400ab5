import type { ArtifactFiles, LogFiles } from '../logs/log-files.ts';
import type { Publishing } from '../publish/publisher.ts';
import type { LeaseQueue } from '../queue/queue.ts';
import type { Store } from '../store/store.ts';
import type { SessionRegistry } from './registry.ts';

/** What every session stands on. */
export interface SessionServices {
  readonly store: Store;
  readonly queue: Pick<LeaseQueue, 'freed' | 'lease'>;
  readonly logs: Pick<LogFiles, 'append' | 'length' | 'staysSmall'>;
  readonly artifacts: Pick<ArtifactFiles, 'append'>;
  readonly publisher: Publishing;
  readonly registry: SessionRegistry;
  readonly serverId: string;
  readonly leaseMs: number;
  /** The version that this server speaks. */
  readonly protocol: number;
  readonly now: () => number;
  readonly limits: { readonly lineBytes: number; readonly frameBytes: number };
}
