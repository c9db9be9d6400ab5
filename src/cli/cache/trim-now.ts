import { setTimeout as delay } from 'node:timers/promises';
import type { CacheAdmin } from '../../runner/cache/cache-admin.ts';
import type { Trimmed } from '../../runner/cache/trimmer.ts';
import { VoleError } from '../../shared/errors.ts';
import type { Settings } from '../../shared/settings/types.ts';
import type { CliContext } from '../context.ts';
import { progressLine } from './progress.ts';

/** Somewhat longer than the turn of a process that was killed stands. */
const TURN_MS = 15_000;
const AGAIN_MS = 250;

/** One trim, by this process: waits its turn where a runner has it. Throws a VoleError where it failed. */
export async function trimNow(
  admin: CacheAdmin,
  settings: Settings<'cache'>,
  context: CliContext,
): Promise<Trimmed> {
  const { cacheSize, gitSize, minFree } = settings;
  let fault = '';
  const quiet = (): void => {};
  const warn = (_facts: object, line: string): void => {
    if (line.startsWith('trimming failed')) fault = line;
  };
  const trimmer = admin.trimmer({ cacheSize, gitSize, minFree }, { debug: quiet, info: quiet, warn });
  const progress = progressLine(context);
  const deadline = performance.now() + TURN_MS;
  try {
    for (;;) {
      const trimmed = await trimmer.trim(undefined, ({ done, of, what }) =>
        progress.show(what === 'cache' ? 'measuring namespaces' : 'measuring saved checkouts', done, of),
      );
      if (trimmed) return trimmed;
      if (fault) throw new VoleError('io-error', fault);
      if (performance.now() > deadline) {
        throw new VoleError('lock-held', `another process is trimming ${admin.dir.layout.root}`);
      }
      await delay(AGAIN_MS);
    }
  } finally {
    progress.clear();
  }
}
