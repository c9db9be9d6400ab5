import { guardName } from '../shared/dir-layout.ts';
import { VoleError } from '../shared/errors.ts';
import { Guards } from '../shared/lock/guard.ts';
import type { HeldGuard } from '../shared/lock/types.ts';
import { type DataDir, makeDataDir, serverIdOf } from './data-dir.ts';
import { Secrets } from './secrets/secrets.ts';
import { openSqliteStore } from './store/open.ts';
import type { RunEvents, Store } from './store/store.ts';

/** A data directory held by this process alone. */
export interface OpenData {
  readonly serverId: string;
  readonly store: Store;
  readonly secrets: Secrets;
  close(): Promise<void>;
}

/**
 * Takes the guard, then opens what is in it: one server, or one command, a data directory. `lentSecrets`: in memory
 * alone, see `Secrets`.
 */
export async function openData(
  dir: DataDir,
  events?: RunEvents,
  lentSecrets?: Readonly<Record<string, string>>,
): Promise<OpenData> {
  await makeDataDir(dir);
  const guard = holdDataDir(dir);
  try {
    const serverId = await serverIdOf(dir);
    const store = await openSqliteStore(dir.database, events);
    const secrets = new Secrets(dir.root, store, lentSecrets);
    let closing: Promise<void> | null = null;
    const close = async () => {
      try {
        await store.close();
      } finally {
        guard.release();
      }
    };
    return { serverId, store, secrets, close: () => (closing ??= close()) };
  } catch (error) {
    guard.release();
    throw error;
  }
}

function holdDataDir(dir: DataDir): HeldGuard {
  const guard = new Guards(dir.locks).try(guardName.server(), 'exclusive');
  if (guard !== null) return guard;
  throw new VoleError('lock-held', `another process of vole uses the data directory ${dir.root}`);
}
