import type { Clock } from '../../shared/platform/clock.ts';
import type { ForgeAdmin } from '../forges/forge-admin.ts';
import type { Intake } from '../hooks/intake.ts';
import type { ArtifactFiles, LogFiles } from '../logs/log-files.ts';
import type { Mirrors } from '../pipelines/mirrors.ts';
import type { Pipelines } from '../pipelines/pipelines.ts';
import type { LeaseQueue, Presence } from '../queue/queue.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Store } from '../store/store.ts';
import type { AccessPolicy } from './access.ts';

/** What the HTTP side stands on. It decides nothing about runs: it asks the store and shows. */
export interface WebParts {
  readonly store: Store;
  readonly queue: Pick<LeaseQueue, 'onChange' | 'roomKept'>;
  readonly logs: LogFiles;
  readonly artifacts: ArtifactFiles;
  readonly presence: Presence;
  readonly secrets: Secrets;
  readonly forges: Pick<ForgeAdmin, 'checked' | 'set' | 'remove' | 'webhook'>;
  readonly pipelines: Pick<Pipelines, 'submit'>;
  readonly mirrors: Pick<Mirrors, 'forget'>;
  readonly intake: Pick<Intake, 'take' | 'replay'>;
  readonly access: AccessPolicy;
  readonly clock: Clock;
  /** Aborted when the server closes: every open stream then ends. */
  readonly closing: AbortSignal;
  /** A fault of vole itself, with its stack, for the server's own log. */
  readonly onFault: (error: unknown, where: string) => void;
}
