import type { Engine } from '../../shared/engine/engine.ts';
import type { ImagePull } from '../../shared/engine/job-container.ts';
import type { EngineReply } from '../../shared/engine/types.ts';
import type { RunLog } from '../log/run-log.ts';
import type { MainThread } from '../port.ts';

const PULL_MS = 3_600_000;

/**
 * Runs `make`, which needs the image on this host. Where it is not there it is pulled first, and `make`
 * tried again; with `always` it is pulled in any case. Ended early where the run is stopped.
 */
export async function withImage<T>(
  engine: Engine,
  image: string,
  pull: ImagePull,
  main: MainThread,
  log: RunLog,
  make: () => Promise<EngineReply<T>>,
): Promise<EngineReply<T>> {
  if (pull !== 'always') {
    const made = await make();
    if (made.ok || made.failure.reason !== 'no-image' || pull === 'never') return made;
  }
  log.say(0, `pulling image ${image}`);
  const pulled = await engine.call(['pull', '--quiet', image], {
    timeoutMs: PULL_MS,
    signal: main.stopping,
    onSpawn: (pgid) => main.tell({ type: 'process', pgid, what: 'pull' }),
    onGone: (pgid) => main.tell({ type: 'process-gone', pgid }),
  });
  return pulled.ok ? await make() : pulled;
}
