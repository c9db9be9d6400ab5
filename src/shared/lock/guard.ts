import { closeSync, constants, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tryLock, unlock } from 'fs-native-extensions';
import { oneLine, VoleError } from '../errors.ts';
import { makeFolder } from '../platform/make-folder.ts';
import type { GuardMode } from '../worker-messages.ts';
import type { HeldGuard } from './types.ts';

/** Longest pause between two tries of a waiting guard; each is jittered between half of it and all. */
const POLL_MS = 25;

const NAME = /^[A-Za-z0-9._-]{1,200}$/;

/**
 * Locks of the kernel for what must never be taken from a living holder: namespaces, saved checkouts,
 * image builds, the installers' tools, a data directory. What they promise, and why:
 *
 * 1. A lock belongs to one open file description (fcntl OFD locks). Every holder opens its own, and
 *    descriptors are never shared or kept for reuse. So threads of one process exclude each other as
 *    processes do, and so do containers that share the directory on one kernel.
 * 2. A guard ends by `release()` or with its thread or process. No timer, clock or pid decides.
 * 3. Lock files are never removed or renamed, and stand outside of what eviction deletes: two holders
 *    could otherwise lock two files of one name.
 * 4. The raw descriptor is kept, since a FileHandle is closed when it is collected. It is
 *    close-on-exec (Node's default) and never passed to a child. Unlock comes before close: closing
 *    alone leaves the lock held for as long as a child that is just being spawned has its copy.
 * 5. Waiting is trying with a jittered pause. The addon's own waiting call cannot be cancelled, and a
 *    thread that is in it cannot be terminated.
 * 6. The file is opened read-write: an exclusive lock needs a writable descriptor.
 * 7. One kind of lock a directory, one kernel, a local file system. The addon is imported when this
 *    module is, so where there is no build of it the program fails at its start and says so.
 * 8. Not fair, not reentrant, and a shared guard is never turned into an exclusive one.
 */
export class Guards {
  readonly #dir: string;

  /** `dir` is the folder of the lock files; it is made when first needed. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Without waiting: null where another holder stands against it. What an evictor uses. */
  try(name: string, mode: GuardMode): HeldGuard | null {
    const fd = this.#open(name);
    let locked = false;
    try {
      locked = tryLock(fd, { shared: mode === 'shared' });
    } catch (error) {
      const file = path.join(this.#dir, name);
      const why = `${file} cannot be locked: ${oneLine(error)}; the directory must be on a local file system`;
      throw new VoleError('io-error', why, { cause: error });
    } finally {
      if (!locked) closeSync(fd);
    }
    return locked ? held(fd, name, mode) : null;
  }

  /** Waits for a shared guard. Rejects with the signal's reason when that aborts. */
  shared(name: string, options: { signal?: AbortSignal } = {}): Promise<HeldGuard> {
    return this.#wait(name, 'shared', options.signal);
  }

  /** Waits until nobody else holds it. Rejects with the signal's reason when that aborts. */
  exclusive(name: string, options: { signal?: AbortSignal } = {}): Promise<HeldGuard> {
    return this.#wait(name, 'exclusive', options.signal);
  }

  async #wait(name: string, mode: GuardMode, signal: AbortSignal | undefined): Promise<HeldGuard> {
    for (;;) {
      signal?.throwIfAborted();
      const guard = this.try(name, mode);
      if (guard) return guard;
      const pauseMs = POLL_MS / 2 + (Math.random() * POLL_MS) / 2;
      // Ending early is enough: the loop then throws the reason itself.
      await delay(pauseMs, undefined, signal ? { signal } : {}).catch(() => {});
    }
  }

  #open(name: string): number {
    if (!NAME.test(name) || name === '.' || name === '..') {
      throw new VoleError('internal', `'${name}' is no name of a lock`);
    }
    const file = path.join(this.#dir, name);
    const open = (): number => openSync(file, constants.O_RDWR | constants.O_CREAT, 0o666);
    try {
      return open();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unopened(file, error);
    }
    try {
      makeFolder(this.#dir);
      return open();
    } catch (error) {
      throw unopened(file, error);
    }
  }
}

function unopened(file: string, error: unknown): VoleError {
  const code = (error as NodeJS.ErrnoException).code;
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  return new VoleError(full ? 'disk-full' : 'io-error', `lock file ${file}: ${oneLine(error)}`, {
    cause: error,
  });
}

function held(fd: number, name: string, mode: GuardMode): HeldGuard {
  let open = true;
  return {
    name,
    mode,
    release: () => {
      if (!open) return;
      open = false;
      unlock(fd);
      closeSync(fd);
    },
  };
}
