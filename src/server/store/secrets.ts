import type { Clock } from '../../shared/platform/clock.ts';
import type { Sql } from './sql.ts';
import type { SecretStore } from './store.ts';
import type { Writer } from './writer.ts';

export class SqliteSecrets implements SecretStore {
  readonly #sql: Sql;
  readonly #writer: Writer;
  readonly #clock: Clock;

  constructor(sql: Sql, writer: Writer, clock: Clock) {
    this.#sql = sql;
    this.#writer = writer;
    this.#clock = clock;
  }

  set(repository: string, name: string, sealed: Buffer): Promise<void> {
    return this.#writer.write(() => {
      this.#sql.run(
        `insert into secrets (repository, name, sealed, updated_at) values (?, ?, ?, ?)
         on conflict do update set sealed = excluded.sealed, updated_at = excluded.updated_at`,
        repository,
        name,
        sealed,
        this.#clock.now(),
      );
    });
  }

  async names(repository: string): Promise<{ name: string; updatedAt: number }[]> {
    return this.#sql.all<{ name: string; updatedAt: number }>(
      'select name, updated_at as updatedAt from secrets where repository = ? order by name',
      repository,
    );
  }

  remove(repository: string, name: string): Promise<boolean> {
    return this.#writer.write(
      () =>
        this.#sql.run('delete from secrets where repository = ? and name = ?', repository, name).changes > 0,
    );
  }

  async sealedOf(repository: string): Promise<{ name: string; sealed: Buffer }[]> {
    return this.#sql.all<{ name: string; sealed: Buffer }>(
      'select name, sealed from secrets where repository = ? order by name',
      repository,
    );
  }
}
