import type { Sql } from './sql.ts';
import type { SmallLogStore } from './store.ts';
import type { Writer } from './writer.ts';

/** A log that is longer lies in a file: the database is no place for large ones. */
const SMALL_BYTES = 16 * 1024;

export class SqliteSmallLogs implements SmallLogStore {
  readonly #sql: Sql;
  readonly #writer: Writer;

  constructor(sql: Sql, writer: Writer) {
    this.#sql = sql;
    this.#writer = writer;
  }

  takes(length: number): boolean {
    return length <= SMALL_BYTES;
  }

  append(run: number, attempt: number, at: number, bytes: Uint8Array): Promise<number | 'full'> {
    return this.#writer.write(() => {
      const length = smallLogLength(this.#sql, run, attempt) ?? 0;
      if (at !== length || bytes.length === 0) return length;
      if (!this.takes(length + bytes.length)) return 'full';
      this.#sql.run('insert into log_parts values (?, ?, ?, ?)', run, attempt, at, asBuffer(bytes));
      return length + bytes.length;
    });
  }

  length(run: number, attempt: number): number | null {
    return smallLogLength(this.#sql, run, attempt);
  }

  read(run: number, attempt: number): Buffer | null {
    const parts = this.#sql.all<{ bytes: Buffer }>(
      'select bytes from log_parts where run = ? and attempt = ? order by at',
      run,
      attempt,
    );
    return parts.length === 0 ? null : Buffer.concat(parts.map(({ bytes }) => bytes));
  }

  remove(run: number, attempt: number, length: number): Promise<boolean> {
    return this.#writer.write(() => {
      if (smallLogLength(this.#sql, run, attempt) !== length) return false;
      this.#sql.run('delete from log_parts where run = ? and attempt = ?', run, attempt);
      return true;
    });
  }
}

/** Null where there is none. */
export function smallLogLength(sql: Sql, run: number, attempt: number): number | null {
  const end = sql.get<{ length: number }>(
    `select at + length(bytes) as length from log_parts
     where run = ? and attempt = ? order by at desc limit 1`,
    run,
    attempt,
  );
  return end?.length ?? null;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
