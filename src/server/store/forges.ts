import type { ForgeKind } from '../../shared/api-forge.ts';
import type { Clock } from '../../shared/platform/clock.ts';
import type { Forge, ForgeStore } from './control.ts';
import type { Sql } from './sql.ts';
import type { Writer } from './writer.ts';

const COLUMNS =
  'repository, kind, project, api_url as apiUrl, token_file as tokenFile, bot_login as botLogin';

export class SqliteForges implements ForgeStore {
  readonly #sql: Sql;
  readonly #writer: Writer;
  readonly #clock: Clock;

  constructor(sql: Sql, writer: Writer, clock: Clock) {
    this.#sql = sql;
    this.#writer = writer;
    this.#clock = clock;
  }

  set(forge: Forge, sealedSecret: Buffer): Promise<void> {
    return this.#writer.write(() => {
      // Numbers of issues and comments are those of one place: in another they name something else.
      this.#sql.run(
        `update tasks set memory = 'null', unsure = 1 where repository = ? and not exists (
           select 1 from forges where repository = ? and api_url = ? and project = ?)`,
        forge.repository,
        forge.repository,
        forge.apiUrl,
        forge.project,
      );
      for (const table of ['agent_sessions', 'agent_plans'])
        this.#sql.run(
          `delete from ${table} where repository = ? and not exists (
             select 1 from forges where repository = ? and api_url = ? and project = ?)`,
          forge.repository,
          forge.repository,
          forge.apiUrl,
          forge.project,
        );
      this.#sql.run(
        `insert or replace into forges
           (repository, kind, project, api_url, token_file, bot_login, webhook_secret, updated_at)
         values (?, ?, ?, ?, ?, ?, ?, ?)`,
        forge.repository,
        forge.kind,
        forge.project,
        forge.apiUrl,
        forge.tokenFile,
        forge.botLogin,
        sealedSecret,
        this.#clock.now(),
      );
    });
  }

  remove(repository: string): Promise<boolean> {
    return this.#writer.write(() => {
      this.#sql.run('delete from tasks where repository = ?', repository);
      return this.#sql.run('delete from forges where repository = ?', repository).changes > 0;
    });
  }

  noteBot(repository: string, login: string): Promise<void> {
    return this.#writer.write(() => {
      this.#sql.run('update forges set bot_login = ? where repository = ?', login, repository);
    });
  }

  async get(repository: string): Promise<Forge | null> {
    return this.#sql.get<Forge>(`select ${COLUMNS} from forges where repository = ?`, repository) ?? null;
  }

  async findByProject(kind: ForgeKind, project: string): Promise<Forge | null> {
    const found = this.#sql.get<Forge>(
      `select ${COLUMNS} from forges where kind = ? and project = ? collate nocase order by repository limit 1`,
      kind,
      project,
    );
    return found ?? null;
  }

  async sealedSecret(repository: string): Promise<Buffer | null> {
    const row = this.#sql.get<{ sealed: Buffer }>(
      'select webhook_secret as sealed from forges where repository = ?',
      repository,
    );
    return row?.sealed ?? null;
  }

  async any(): Promise<boolean> {
    return this.#sql.get('select 1 from forges limit 1') !== undefined;
  }
}
