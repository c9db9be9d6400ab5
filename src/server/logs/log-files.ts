/**
 * Logs on the server's disk, in the records of shared/log-record.ts, append only: small ones in the
 * database, others in `<data>/logs/<run / 1000>/<run>-<attempt>.log`. The offset that a runner is told is
 * durable: `fdatasync` has returned.
 */
export interface LogFiles {
  /** Writes nothing where `offset` is not the file's length; resolves with the durable length. */
  append(run: number, attempt: number, offset: number, bytes: Uint8Array): Promise<number>;
  length(run: number, attempt: number): Promise<number>;
  /**
   * Whether the log is in the database, or new, and stays there at this length: then an append that begins
   * in this turn of the event loop is in one transaction with what the store is asked to write after it.
   */
  staysSmall(run: number, attempt: number, length: number): boolean;
  read(run: number, attempt: number, offset: number, maxBytes: number): Promise<Buffer>;
  /** Calls back whenever that log has grown; returns the function that ends it. */
  onGrowth(run: number, attempt: number, listener: () => void): () => void;
}

/** Artifacts: `<data>/artifacts/<run>/<attempt>/<name>`; `<name>~part` until its digest was checked. */
export interface ArtifactFiles {
  append(
    run: number,
    attempt: number,
    name: string,
    offset: number,
    bytes: Uint8Array,
    last: boolean,
    sha256: string | null,
  ): Promise<{ offset: number; error: string | null }>;
  list(run: number, attempt: number): Promise<{ name: string; bytes: number }[]>;
  /** Absolute path of a complete artifact, or null. */
  path(run: number, attempt: number, name: string): Promise<string | null>;
}
