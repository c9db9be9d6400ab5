import type { Clock } from '../../shared/platform/clock.ts';
import type { Sql } from './sql.ts';
import type { AccountKey, AccountStore } from './store.ts';
import type { Writer } from './writer.ts';

interface KeyRow {
  account: string;
  fingerprint: string;
  public_key: string;
  added_at: number;
}

export class SqliteAccounts implements AccountStore {
  readonly #sql: Sql;
  readonly #writer: Writer;
  readonly #clock: Clock;

  constructor(sql: Sql, writer: Writer, clock: Clock) {
    this.#sql = sql;
    this.#writer = writer;
    this.#clock = clock;
  }

  addKey(account: string, publicKey: string, fingerprint: string): Promise<'added' | 'exists' | 'conflict'> {
    return this.#writer.write(() => {
      const owner = this.#ownerOf(publicKey);
      if (owner !== null) return owner === account ? 'exists' : 'conflict';
      this.#sql.run(
        'insert into account_keys (public_key, account, fingerprint, added_at) values (?, ?, ?, ?)',
        publicKey,
        account,
        fingerprint,
        this.#clock.now(),
      );
      return 'added';
    });
  }

  async keys(): Promise<AccountKey[]> {
    const rows = this.#sql.all<KeyRow>('select * from account_keys order by account, added_at, fingerprint');
    return rows.map((row) => ({
      account: row.account,
      fingerprint: row.fingerprint,
      publicKey: row.public_key,
      addedAt: row.added_at,
    }));
  }

  removeKeys(account: string, fingerprint: string | null): Promise<number> {
    return this.#writer.write((effects) => {
      const { changes } = this.#sql.run(
        'delete from account_keys where account = ? and fingerprint = coalesce(?, fingerprint)',
        account,
        fingerprint,
      );
      if (changes > 0) effects.keysRemoved = true;
      return changes;
    });
  }

  async accountOf(publicKey: string): Promise<string | null> {
    return this.#ownerOf(publicKey);
  }

  #ownerOf(publicKey: string): string | null {
    const sql = 'select account from account_keys where public_key = ?';
    return this.#sql.get<{ account: string }>(sql, publicKey)?.account ?? null;
  }
}
