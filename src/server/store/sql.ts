import { closeSync, fchmodSync, fstatSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { oneLine, VoleError } from '../../shared/errors.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';

type Value = string | number | bigint | Buffer | null;

/** A connection with its statements, each prepared once. */
export class Sql {
  readonly db: Database.Database;
  readonly #statements = new Map<string, Database.Statement<Value[]>>();

  constructor(db: Database.Database) {
    this.db = db;
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller alone knows its columns
  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#prepared(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#prepared(sql).all(...values) as Row[];
  }

  /** Locks the connection until it is read to its end or left by `break`. */
  iterate<Row>(sql: string, ...values: Value[]): IterableIterator<Row> {
    return this.#prepared(sql).iterate(...values) as IterableIterator<Row>;
  }

  /** How many rows it changed, and the id of the last one inserted. */
  run(sql: string, ...values: Value[]): { changes: number; id: number } {
    const { changes, lastInsertRowid } = this.#prepared(sql).run(...values);
    return { changes, id: Number(lastInsertRowid) };
  }

  #prepared(sql: string): Database.Statement<Value[]> {
    let statement = this.#statements.get(sql);
    if (!this.db.open) throw new VoleError('interrupted', 'the database is closed');
    if (!statement) {
      statement = this.db.prepare<Value[]>(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/**
 * Opens the file and brings its schema up to date. `NORMAL`: a commit is in the write-ahead log, and whole
 * after a power cut or not there at all; that it is on disk is for `SyncedLog` to see to, which does not
 * hold up the event loop as SQLite's own sync at each commit would.
 */
export function openSql(file: string, migrations: readonly Migration[] = MIGRATIONS): Sql {
  let db: Database.Database | null = null;
  try {
    forOwnerAlone(file);
    db = new Database(file);
    db.pragma('busy_timeout = 5000');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma('foreign_keys = ON');
    migrate(db, file, migrations);
    return new Sql(db);
  } catch (error) {
    db?.close();
    throw storeError(error, file);
  }
}

/** SQLite makes its files by the umask, and those beside the database with the database's mode. */
function forOwnerAlone(file: string): void {
  const fd = openSync(file, 'a', 0o600);
  try {
    if ((fstatSync(fd).mode & 0o077) !== 0) fchmodSync(fd, 0o600);
  } finally {
    closeSync(fd);
  }
}

function migrate(db: Database.Database, file: string, migrations: readonly Migration[]): void {
  db.exec(
    'create table if not exists migrations (version integer primary key, name text not null, applied_at integer not null) strict',
  );
  const apply = db.transaction(() => {
    const at = db.prepare<[], number>('select coalesce(max(version), 0) from migrations').pluck().get() ?? 0;
    const known = migrations.at(-1)?.version ?? 0;
    if (at > known) {
      throw new VoleError(
        'io-error',
        `${file} was written by a newer vole (schema ${at}, this one knows ${known}): use that version`,
      );
    }
    const note = db.prepare('insert into migrations (version, name, applied_at) values (?, ?, ?)');
    for (const { version, name, sql } of migrations) {
      if (version <= at) continue;
      db.exec(sql);
      note.run(version, name, Date.now());
    }
  });
  apply.immediate();
}

/** What SQLite says, as an error of ours where a person can do something about it. */
export function storeError(error: unknown, file: string): unknown {
  if (!(error instanceof Database.SqliteError)) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code !== undefined && syscall !== undefined)
      return new VoleError(code === 'ENOSPC' ? 'disk-full' : 'io-error', oneLine(error), { cause: error });
    return error instanceof TypeError && /directory does not exist/.test(error.message)
      ? new VoleError('io-error', `${file}: its directory does not exist`, { cause: error })
      : error;
  }
  const { code } = error;
  if (code === 'SQLITE_FULL') return new VoleError('disk-full', `no room to write ${file}`, { cause: error });
  if (/^SQLITE_(IOERR|CANTOPEN|NOTADB|CORRUPT|READONLY|PERM|BUSY|LOCKED)/.test(code))
    return new VoleError('io-error', `${file}: ${oneLine(error)} (${code})`, { cause: error });
  return error;
}
