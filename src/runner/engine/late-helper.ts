import { isImageName } from '../../shared/image-name.ts';
import type { Namespaces } from '../cache/namespaces.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { RootHelper } from '../dir/trash.ts';
import { chooseEngine } from './choose-engine.ts';
import { HelperImages } from './helper-images.ts';
import { rootHelper } from './root-helper.ts';

const QUIET = { debug: () => {}, info: () => {}, warn: () => {} };

/** Images that the records of a directory name, for what only a container can remove. */
export function imagesUsed(namespaces: Pick<Namespaces, 'records'>): HelperImages {
  const images = new HelperImages();
  for (const { image, trust, lastUsed } of namespaces.records.all()) {
    if (isImageName(image) && image !== 'host') images.used(image, trust, lastUsed);
  }
  return images;
}

/**
 * The root helper of a command that mostly needs none: the engine is asked for when there is something
 * that this user cannot remove. `images` are those known before anything is evicted.
 */
export function lateRootHelper(
  dir: RunnerDir,
  images: HelperImages,
  env: Readonly<Record<string, string>>,
): RootHelper {
  let helper: Promise<RootHelper | null> | null = null;
  const find = async (): Promise<RootHelper | null> => {
    const engine = await chooseEngine('auto', env, QUIET);
    return engine && rootHelper(engine, images, { directory: dir.id, process: `cache-${process.pid}` });
  };
  const found = (): Promise<RootHelper | null> => (helper ??= find());
  return {
    empty: async (folder) => (await (await found())?.empty(folder)) ?? false,
    own: async (folder) => (await (await found())?.own(folder)) ?? false,
  };
}
