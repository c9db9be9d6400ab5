import { VoleError } from '../../shared/errors.ts';
import { type Sql, storeError } from './sql.ts';
import type { RunEvents } from './store.ts';
import type { Sync } from './synced-log.ts';

/** What a write did that others wait for; told to them once it is durable. */
export class Effects {
  leasable = false;
  keysRemoved = false;
  readonly changed = new Set<number>();
  /** Pipelines whose workflow file has a fault. */
  readonly faulty = new Set<number>();
  /** Control tasks wait that did not before. */
  tasks = false;
}

interface Pending {
  readonly work: (effects: Effects) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Done = { effects: Effects; value: unknown } | { error: unknown };

interface Batch {
  readonly writes: readonly Pending[];
  readonly done: readonly Done[];
}

/**
 * Group commit: the writes of one turn of the event loop share one transaction, and the transactions that
 * are made while the disk is busy share its next sync, since a sync costs the same however much is in
 * it. Each write has a savepoint of its own, so that one that throws undoes itself alone. Answers are given
 * when the commit is on disk. A disk that fails to sync is not believed again: nothing more is written.
 */
export class Writer {
  readonly #sql: Sql;
  readonly #events: RunEvents | undefined;
  readonly #follow: (effects: Effects) => void;
  readonly #log: Sync;
  #pending: Pending[] = [];
  /** Committed and not on disk yet. */
  #committed: Batch[] = [];
  #syncing = false;
  #failure: unknown = null;
  #scheduled: NodeJS.Immediate | null = null;
  #closed = false;

  /** `follow` writes what a write causes, in the same transaction. */
  constructor(sql: Sql, log: Sync, events?: RunEvents, follow: (effects: Effects) => void = () => {}) {
    this.#sql = sql;
    this.#log = log;
    this.#events = events;
    this.#follow = follow;
  }

  /** `work` is synchronous and reads what the writes before it wrote. */
  write<T>(work: (effects: Effects) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new VoleError('interrupted', 'the database is closed'));
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ work, resolve: (value) => resolve(value as T), reject });
      this.#scheduled ??= setImmediate(() => this.#flush());
    });
  }

  /** Commits what was asked before, and puts it on disk; what is asked after fails. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#scheduled) clearImmediate(this.#scheduled);
    this.#flush();
    const left = this.#committed.splice(0);
    let failure: unknown = null;
    try {
      this.#log.syncNow();
    } catch (error) {
      failure = error;
    }
    this.#answer(left, failure);
    if (!this.#syncing) this.#log.close();
  }

  #flush(): void {
    this.#scheduled = null;
    const batch = this.#pending;
    this.#pending = [];
    if (batch.length === 0) return;
    try {
      if (this.#failure) throw this.#failure;
      this.#committed.push({ writes: batch, done: this.#commit(batch) });
      this.#syncSoon();
    } catch (error) {
      if (this.#sql.db.inTransaction) this.#sql.run('rollback');
      const shown = storeError(error, this.#sql.db.name);
      for (const { reject } of batch) reject(shown);
    }
  }

  #syncSoon(): void {
    if (this.#syncing || this.#committed.length === 0) return;
    this.#syncing = true;
    const batches = this.#committed.splice(0);
    this.#log.sync((error) => {
      this.#syncing = false;
      this.#answer(batches, error);
      if (this.#closed) this.#log.close();
      else this.#syncSoon();
    });
  }

  #answer(batches: readonly Batch[], failure: unknown): void {
    this.#failure ??= failure;
    for (const { writes, done } of batches) {
      for (const [at, { resolve, reject }] of writes.entries()) {
        const result = done[at];
        if (failure) reject(storeError(failure, this.#sql.db.name));
        else if (result && 'value' in result) resolve(result.value);
        else reject(storeError(result?.error, this.#sql.db.name));
      }
      if (!failure) this.#tell(done);
    }
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
      this.#follow(effects);
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
      this.#follow(effects);
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
    if (effects.some(({ tasks }) => tasks)) this.#events.tasks();
  }
}
