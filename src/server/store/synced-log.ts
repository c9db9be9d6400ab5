import { closeSync, constants, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import path from 'node:path';

/** Puts what was committed so far on disk. */
export interface Sync {
  /** Calls back when it is there, or with what the disk said. */
  sync(done: (error: Error | null) => void): void;
  /** The same, at once; throws what the disk said. */
  syncNow(): void;
  close(): void;
}

/**
 * SQLite's write-ahead log, which stays the same file for as long as a connection is open. A commit is
 * durable when it is synced, whoever does that, and when the log has its name on disk, which SQLite leaves
 * to us at `synchronous=NORMAL`.
 */
export class SyncedLog implements Sync {
  readonly #fd: number;

  /** After the database was opened and written to. Throws as `openSync` does. */
  constructor(databaseFile: string) {
    this.#fd = openSync(`${databaseFile}-wal`, constants.O_RDONLY);
    try {
      syncFolder(path.dirname(databaseFile));
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  sync(done: (error: Error | null) => void): void {
    fdatasync(this.#fd, done);
  }

  syncNow(): void {
    fdatasyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
