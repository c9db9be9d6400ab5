import { closeSync, constants, fdatasync, fdatasyncSync, openSync } from 'node:fs';

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
 * durable when it is synced, whoever does that.
 */
export class SyncedLog implements Sync {
  readonly #fd: number;

  /** After the database was opened and written to. Throws as `openSync` does. */
  constructor(databaseFile: string) {
    this.#fd = openSync(`${databaseFile}-wal`, constants.O_RDONLY);
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
