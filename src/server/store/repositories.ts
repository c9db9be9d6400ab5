import type { ForgeKind } from '../../shared/api-forge.ts';
import type { Clock } from '../../shared/platform/clock.ts';
import type { Lanes } from './lanes.ts';
import type { Sql } from './sql.ts';
import type { Repository, RepositoryStore } from './store.ts';
import type { Effects, Writer } from './writer.ts';

interface RepositoryRow {
  name: string;
  clone_url: string;
  max_jobs: number | null;
  forge: ForgeKind | null;
  added_at: number;
}

const SELECT = `
  select r.*, f.kind as forge from repositories r left join forges f on f.repository = r.name`;

export class SqliteRepositories implements RepositoryStore {
  readonly #sql: Sql;
  readonly #writer: Writer;
  readonly #lanes: Lanes;
  readonly #clock: Clock;

  constructor(sql: Sql, writer: Writer, lanes: Lanes, clock: Clock) {
    this.#sql = sql;
    this.#writer = writer;
    this.#lanes = lanes;
    this.#clock = clock;
  }

  add(repository: { name: string; cloneUrl: string; maxJobs: number | null }): Promise<'added' | 'exists'> {
    return this.#writer.write((effects) => {
      const { changes } = this.#sql.run(
        'insert into repositories (name, clone_url, max_jobs, added_at) values (?, ?, ?, ?) on conflict do nothing',
        repository.name,
        repository.cloneUrl,
        repository.maxJobs,
        this.#clock.now(),
      );
      if (changes === 0) return 'exists';
      this.#capChanged(repository.name, effects);
      return 'added';
    });
  }

  set(name: string, change: { cloneUrl?: string; maxJobs?: number | null }): Promise<boolean> {
    return this.#writer.write((effects) => {
      const now = this.#find(name);
      if (!now) return false;
      this.#sql.run(
        'update repositories set clone_url = ?, max_jobs = ? where name = ?',
        change.cloneUrl ?? now.clone_url,
        change.maxJobs === undefined ? now.max_jobs : change.maxJobs,
        name,
      );
      this.#capChanged(name, effects);
      return true;
    });
  }

  /** Its secrets and events go with it, so that another of its name begins anew; its finished runs stay. */
  remove(name: string): Promise<'removed' | 'not-found' | 'has-runs'> {
    return this.#writer.write(() => {
      if (!this.#find(name)) return 'not-found';
      if (this.#sql.get('select 1 from runs where repository = ? and state < 3 limit 1', name))
        return 'has-runs';
      this.#sql.run('delete from events where repository = ?', name);
      this.#sql.run('delete from repositories where name = ?', name);
      this.#lanes.reopen(name);
      return 'removed';
    });
  }

  async get(name: string): Promise<Repository | null> {
    const row = this.#find(name);
    return row ? repositoryOf(row) : null;
  }

  async list(): Promise<Repository[]> {
    return this.#sql.all<RepositoryRow>(`${SELECT} order by r.name`).map(repositoryOf);
  }

  #capChanged(name: string, effects: Effects): void {
    this.#lanes.reopen(name);
    effects.leasable = true;
  }

  #find(name: string): RepositoryRow | undefined {
    return this.#sql.get<RepositoryRow>(`${SELECT} where r.name = ?`, name);
  }
}

function repositoryOf(row: RepositoryRow): Repository {
  const { name, clone_url: cloneUrl, max_jobs: maxJobs, forge, added_at: addedAt } = row;
  return { name, cloneUrl, maxJobs, forge, addedAt };
}
