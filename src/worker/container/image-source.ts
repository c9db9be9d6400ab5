import type { Engine } from '../../shared/engine/engine.ts';
import type { JobContainer } from '../../shared/engine/job-container.ts';
import type { EngineFailure } from '../../shared/engine/types.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';

/** What whoever makes an image ready for a run needs of it. */
export interface ImageParts {
  readonly task: WorkerTask;
  readonly job: JobContainer;
  readonly engine: Engine;
  readonly main: MainThread;
  readonly log: RunLog;
}

/** Where a container's image comes from. */
export interface ImageSource {
  /** For people: `image debian:12`. */
  readonly words: string;
  /** The image as it may already be on this host; null where it must be provided first. */
  find(): Promise<Provided | null>;
  /**
   * Pulls or builds it, or waits for another run that does; null where it is not to be. `absent`: the one
   * that was found, and that this host turned out not to have.
   */
  provide(absent: string | null): Promise<Provided | null>;
}

export type Provided = { ok: true; image: string } | { ok: false; failure: PartFailure };

/** A client that failed: its words, and whether it would fail for others as well. */
export function imageFailure(
  words: string,
  { reason, why }: EngineFailure,
): { failure: PartFailure; shared: boolean } {
  const ours = reason === 'failed' || reason === 'no-image' || reason === 'gone';
  const full = /no space left/i.test(why);
  const of = full ? 'disk-full' : ours ? 'image' : 'engine';
  return { failure: { reason: of, why: `${words}: ${why}` }, shared: ours };
}
