import { VoleError } from '../../shared/errors.ts';
import { type Sql, storeError } from './sql.ts';
import type { RunEvents } from './store.ts';

/** What a write did that others wait for; told to them once it is durable. */
export class Effects {
  leasable = false;
  keysRemoved = false;
  readonly changed = new Set<number>();
}

interface Pending {
  readonly work: (effects: Effects) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Done = { effects: Effects; value: unknown } | { error: unknown };

/**
 * Group commit: the writes of one turn of the event loop share one transaction, since a durable commit
 * costs a flush of the disk however much is in it. Each has a savepoint of its own, so that one that
 * throws undoes itself alone. Answers are given after the commit.
 */
export class Writer {
  readonly #sql: Sql;
  readonly #events: RunEvents | undefined;
  #pending: Pending[] = [];
  #scheduled: NodeJS.Immediate | null = null;
  #closed = false;

  constructor(sql: Sql, events?: RunEvents) {
    this.#sql = sql;
    this.#events = events;
  }

  /** `work` is synchronous and reads what the writes before it wrote. */
  write<T>(work: (effects: Effects) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new VoleError('interrupted', 'the database is closed'));
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ work, resolve: (value) => resolve(value as T), reject });
      this.#scheduled ??= setImmediate(() => this.#flush());
    });
  }

  /** Commits what was asked before; what is asked after fails. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#scheduled) clearImmediate(this.#scheduled);
    this.#flush();
  }

  #flush(): void {
    this.#scheduled = null;
    const batch = this.#pending;
    this.#pending = [];
    if (batch.length === 0) return;
    let done: Done[];
    try {
      done = this.#commit(batch);
    } catch (error) {
      if (this.#sql.db.inTransaction) this.#sql.run('rollback');
      const shown = storeError(error, this.#sql.db.name);
      for (const { reject } of batch) reject(shown);
      return;
    }
    for (const [at, { resolve, reject }] of batch.entries()) {
      const result = done[at];
      if (result && 'value' in result) resolve(result.value);
      else reject(storeError(result?.error, this.#sql.db.name));
    }
    this.#tell(done);
  }

  #commit(batch: readonly Pending[]): Done[] {
    this.#sql.run('begin immediate');
    const [first] = batch;
    if (first && batch.length === 1) return [this.#alone(first)];
    const done = batch.map(({ work }) => this.#attempt(work));
    this.#sql.run('commit');
    return done;
  }

  /** One write needs no savepoint: it is the transaction. */
  #alone({ work }: Pending): Done {
    const effects = new Effects();
    let value: unknown;
    try {
      value = work(effects);
    } catch (error) {
      if (!this.#sql.db.inTransaction) throw error;
      this.#sql.run('rollback');
      return { error };
    }
    this.#sql.run('commit');
    return { effects, value };
  }

  #attempt(work: (effects: Effects) => unknown): Done {
    const effects = new Effects();
    this.#sql.run('savepoint one');
    try {
      const value = work(effects);
      this.#sql.run('release one');
      return { effects, value };
    } catch (error) {
      // A full disk has ended the whole transaction by itself: nothing of the batch was kept.
      if (!this.#sql.db.inTransaction) throw error;
      this.#sql.run('rollback to one');
      this.#sql.run('release one');
      return { error };
    }
  }

  #tell(done: readonly Done[]): void {
    if (!this.#events) return;
    const effects = done.flatMap((one) => ('effects' in one ? [one.effects] : []));
    // First, so that nobody who has just lost a key is woken for work.
    if (effects.some(({ keysRemoved }) => keysRemoved)) this.#events.keysRemoved();
    for (const run of new Set(effects.flatMap(({ changed }) => [...changed]))) this.#events.changed(run);
    if (effects.some(({ leasable }) => leasable)) this.#events.leasable();
  }
}
