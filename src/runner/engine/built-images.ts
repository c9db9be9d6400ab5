import { guardName } from '../../shared/dir-layout.ts';
import { Engine } from '../../shared/engine/engine.ts';
import { ImageFile, type ImageRecord, imageFiles } from '../../shared/engine/image-record.ts';
import { IMAGE_LABEL } from '../../shared/engine/owned.ts';
import type { EngineFacts } from '../../shared/engine/types.ts';
import { builtTag } from '../../shared/image-name.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { HelperImages } from './helper-images.ts';

/** Nobody who waited for such an end still waits. */
const STALE_MS = 3_600_000;

interface Built {
  readonly name: string;
  readonly file: ImageFile;
  readonly record: ImageRecord;
  readonly usedAt: number;
}

/**
 * The images that runs of this directory were built, of which `keep` stay, those that were used last. What
 * a job uses is never removed: a job holds the image's guard shared, and the engine keeps what a
 * container is made of.
 */
export class BuiltImages {
  readonly #dir: RunnerDir;
  readonly #engine: Engine | null;
  readonly #keep: number;
  readonly #helpers: HelperImages;
  readonly #warn: (line: string) => void;
  #trimming: Promise<void> | null = null;
  #again = false;

  constructor(
    dir: RunnerDir,
    engine: EngineFacts | null,
    keep: number,
    helpers: HelperImages,
    warn: (line: string) => void,
  ) {
    this.#dir = dir;
    this.#engine = engine && new Engine(engine);
    this.#keep = keep;
    this.#helpers = helpers;
    this.#warn = warn;
  }

  /** Removes what no record leads to, as a runner that was killed leaves it. A line for each. */
  async sweep(): Promise<string[]> {
    if (!this.#engine) return [];
    const found = await strayImages(this.#engine, this.#dir);
    if (typeof found === 'string') return [`built images cannot be looked for: ${found}`];
    const lines: string[] = [];
    for (const { id, key } of found) {
      // Who builds it holds this, be it that it is not finished yet.
      const alone = this.#dir.guards.try(guardName.image(key), 'exclusive');
      if (!alone) continue;
      try {
        if (new ImageFile(this.#dir.layout.images, key).last?.image === id) continue;
        const why = await this.#remove(id, key);
        lines.push(why === null ? `removed a built image of no use, ${key}` : `image ${key} stays: ${why}`);
      } finally {
        alone.release();
      }
    }
    return lines;
  }

  /** Soon, and once for all who ask meanwhile. */
  trimSoon(): void {
    if (this.#trimming) {
      this.#again = true;
      return;
    }
    this.#trimming = this.#trim().finally(() => {
      this.#trimming = null;
      if (!this.#again) return;
      this.#again = false;
      this.trimSoon();
    });
  }

  async close(): Promise<void> {
    while (this.#trimming) await this.#trimming;
  }

  async #trim(): Promise<void> {
    const engine = this.#engine;
    if (!engine) return;
    const folder = this.#dir.layout.images;
    const built: Built[] = [];
    for (const name of imageFiles(folder)) {
      const file = new ImageFile(folder, name);
      const { last: record, usedAt } = file;
      if (!record || record.subject.engine !== engine.name) continue;
      if (record.subject.kind === 'build' && record.image !== null) {
        this.#helpers.used(record.image, record.subject.trust, usedAt);
        built.push({ name, file, record, usedAt });
      } else if (Date.now() - usedAt > STALE_MS) this.#forget(name, file, record);
    }
    built.sort((a, b) => b.usedAt - a.usedAt);
    for (const old of built.slice(this.#keep)) await this.#removeBuilt(old);
  }

  /** How a pull or a failed build ended: of no use once nobody has waited for it. */
  #forget(name: string, file: ImageFile, { subject }: ImageRecord): void {
    const alone = this.#dir.guards.try(guardName[subject.kind](name), 'exclusive');
    if (Date.now() - file.usedAt > STALE_MS) file.remove();
    alone?.release();
  }

  async #removeBuilt({ name, file, usedAt }: Built): Promise<void> {
    const alone = this.#dir.guards.try(guardName.image(name), 'exclusive');
    if (!alone) return;
    try {
      const { last } = file;
      if (!last?.image || file.usedAt !== usedAt) return;
      const why = await this.#remove(last.image, name);
      if (why === null) file.remove();
      else this.#warn(`an image over --image-keep stays for now, ${name}: ${why}`);
    } finally {
      alone.release();
    }
  }

  /** Null where it is gone, or has another's tag and only ours is gone; else why not. */
  async #remove(id: string, name: string): Promise<string | null> {
    const engine = this.#engine;
    if (!engine) return 'there is no engine';
    const tag = builtTag(name, this.#dir.id);
    const said = await engine.call(['image', 'inspect', '--format', '{{join .RepoTags " "}}', id]);
    if (!said.ok) return said.failure.reason === 'no-image' ? null : said.failure.why;
    const tags = said.value.split(' ').filter(Boolean);
    const what = tags.includes(tag) ? tag : tags.length === 0 ? id : null;
    if (what === null) return null;
    const removed = await engine.call(['rmi', what]);
    return removed.ok || removed.failure.reason === 'no-image' ? null : removed.failure.why;
  }
}

/** Images that were built for this directory and have no record; a text is why they cannot be looked for. */
export async function strayImages(
  engine: Engine,
  dir: Pick<RunnerDir, 'id' | 'layout'>,
): Promise<{ id: string; key: string }[] | string> {
  const filter = ['--filter', `label=${IMAGE_LABEL.directory}=${dir.id}`];
  const listed = await engine.call(['images', '--quiet', '--no-trunc', ...filter]);
  if (!listed.ok) return listed.failure.why;
  const stray: { id: string; key: string }[] = [];
  for (const id of new Set(listed.value.split('\n').filter(Boolean))) {
    const format = `{{index .Config.Labels "${IMAGE_LABEL.key}"}}`;
    const said = await engine.call(['image', 'inspect', '--format', format, id]);
    if (!said.ok) {
      if (said.failure.reason === 'no-image') continue; // removed meanwhile
      return said.failure.why;
    }
    const key = said.value;
    // An image from elsewhere may carry anything.
    if (!/^[a-z0-9-]{1,100}$/.test(key)) continue;
    if (new ImageFile(dir.layout.images, key).last?.image !== id) stray.push({ id, key });
  }
  return stray;
}
