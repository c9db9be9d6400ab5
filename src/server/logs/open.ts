import type { SmallLogStore } from '../store/store.ts';
import { ArtifactStore } from './artifact-store.ts';
import { LogStore } from './log-store.ts';

/** A run that says nothing for this long costs no descriptor. */
const IDLE_MS = 10_000;

/**
 * `root` is the `logs` folder of the data directory. Close it after what writes to it, and before the
 * store that small ones are in.
 */
export function openLogFiles(root: string, small: SmallLogStore, idleMs = IDLE_MS): LogStore {
  return new LogStore(root, small, idleMs);
}

/** `root` is the `artifacts` folder of the data directory. */
export function openArtifactFiles(root: string, idleMs = IDLE_MS): ArtifactStore {
  return new ArtifactStore(root, idleMs);
}
