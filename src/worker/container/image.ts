import type { Engine } from '../../shared/engine/engine.ts';
import type { JobContainer, JobImage } from '../../shared/engine/job-container.ts';
import type { EngineFailure, EngineReply } from '../../shared/engine/types.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { BuiltImage } from './build.ts';
import { PulledImage } from './pull.ts';
import type { Provided } from './turn.ts';

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

/** An image by its name, of a job or a service, or the one built from the job's file. */
export function imageSource(parts: ImageParts, image: JobImage): ImageSource {
  return 'name' in image ? new PulledImage(parts, image.name) : new BuiltImage(parts, image.file);
}

/** Runs `make` with an image that is on this host, provided first where that is needed. */
export async function withImage<T>(
  source: ImageSource,
  make: (image: string) => Promise<EngineReply<T>>,
): Promise<{ ok: true; value: T } | { ok: false; failure: PartFailure }> {
  let absent: string | null = null;
  const found = await source.find();
  if (found) {
    if (!found.ok) return found;
    const made = await make(found.image);
    if (made.ok) return made;
    if (made.failure.reason !== 'no-image') return { ok: false, failure: notMade(source, made.failure) };
    absent = found.image;
  }
  const provided = await source.provide(absent);
  if (!provided)
    return { ok: false, failure: { reason: 'image', why: `${source.words} is not on this host` } };
  if (!provided.ok) return provided;
  const made = await make(provided.image);
  return made.ok ? made : { ok: false, failure: notMade(source, made.failure) };
}

function notMade(source: ImageSource, { why }: EngineFailure): PartFailure {
  const full = /no space left/i.test(why);
  return { reason: full ? 'disk-full' : 'engine', why: `container of ${source.words}: ${why}` };
}

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
