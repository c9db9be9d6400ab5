import type { JobImage } from '../../shared/engine/job-container.ts';
import type { EngineFailure, EngineReply } from '../../shared/engine/types.ts';
import type { PartFailure } from '../part-failure.ts';
import { BuiltImage } from './build.ts';
import type { ImageParts, ImageSource } from './image-source.ts';
import { PulledImage } from './pull.ts';

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
