import type { CommandFacts, CommandStore } from './control.ts';
import type { Sql } from './sql.ts';

export class SqliteCommands implements CommandStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async of(run: number): Promise<CommandFacts | null> {
    const facts = this.#sql.get<CommandFacts>(
      'select issue, comment, author, name from commands where run = ?',
      run,
    );
    return facts ?? null;
  }

  async unfinished(repository: string, issue: number, upToRun: number): Promise<number[]> {
    const rows = this.#sql.all<{ run: number }>(
      `select c.run from commands c join runs r on r.id = c.run
       where c.repository = ? and c.issue = ? and c.run <= ? and r.state < 3 order by c.run`,
      repository,
      issue,
      upToRun,
    );
    return rows.map(({ run }) => run);
  }

  async anyCancelled(repository: string, issue: number, why: string): Promise<boolean> {
    const row = this.#sql.get(
      `select 1 from commands c join runs r on r.id = c.run
       where c.repository = ? and c.issue = ? and (r.cancel_why = ? or r.detail = ?) limit 1`,
      repository,
      issue,
      why,
      why,
    );
    return row !== undefined;
  }
}
