import { isFinal, type RunState } from '../../shared/outcome.ts';
import type { Clock } from '../../shared/platform/clock.ts';
import { failsFast, type NextFacts, nextOf, type RunEvent } from '../queue/transitions.ts';
import type { Lanes } from './lanes.ts';
import { CORE, type CoreRow, factsOf, numberOf, stateOf } from './rows.ts';
import type { Sql } from './sql.ts';
import type { Effects } from './writer.ts';

/** Who holds a lease, written with the transition to running. */
export interface Holder {
  readonly account: string;
  readonly machine: string;
  readonly session: string;
  readonly key: string;
  readonly leaseUntil: number;
}

/**
 * Writes transitions with all that they cause: counters of lanes, the next of a serial key, dependents.
 * Every method runs inside a write of the store.
 */
export class Settle {
  readonly #sql: Sql;
  readonly #lanes: Lanes;
  readonly #clock: Clock;

  constructor(sql: Sql, lanes: Lanes, clock: Clock) {
    this.#sql = sql;
    this.#lanes = lanes;
    this.#clock = clock;
  }

  find(run: number): CoreRow | undefined {
    return this.#sql.get<CoreRow>(`select ${CORE} from runs where id = ?`, run);
  }

  /** The state after it, or null where the event changes nothing. `leased` goes by `lease`. */
  apply(row: CoreRow, event: Exclude<RunEvent, { type: 'leased' }>, effects: Effects): RunState | null {
    const next = nextOf(factsOf(row), event);
    if (next === null) return null;
    const before = stateOf(row.state);
    if (next.state === before) this.#note(row, next);
    else if (isFinal(next.state)) this.#end(row, next, effects);
    else this.#queue(row, next);
    effects.changed.add(row.id);
    if (next.state !== before) this.#follow(row, before, next.state, effects);
    return next.state;
  }

  /** Queued to running. The attempt counts it. */
  lease(row: CoreRow, holder: Holder, effects: Effects): void {
    const next = nextOf(factsOf(row), { type: 'leased' });
    if (next?.state !== 'running') throw new Error(`run ${row.id} is ready though it is not queued`);
    this.#sql.run(
      `update runs set state = 2, ready = 0, attempt = attempt + 1, accepted = 0, account = ?, machine = ?,
         session = ?, lease_key = ?, started_at = ?, lease_until = ?, reason = null, detail = '', steps = '[]',
         log_length = 0
       where id = ?`,
      holder.account,
      holder.machine,
      holder.session,
      holder.key,
      this.#clock.now(),
      holder.leaseUntil,
      row.id,
    );
    effects.changed.add(row.id);
    this.#lanes.countRunning(row.repository, 1);
    this.#lanes.refreshHead(row.lane);
  }

  /** Says anew whether the run is ready. */
  refreshReady(run: number, effects: Effects): void {
    const row = this.#sql.get<{ lane: number; ready: number; wanted: number }>(
      `select lane, ready, state = 1 and unmet = 0 and (serial is null or not exists (
         select 1 from runs o where o.serial = runs.serial and o.state < 3 and o.id < runs.id)) as wanted
       from runs where id = ?`,
      run,
    );
    if (!row) return;
    if (row.ready !== row.wanted) {
      this.#sql.run('update runs set ready = ? where id = ?', row.wanted, run);
      this.#lanes.refreshHead(row.lane);
    }
    if (row.wanted === 1) effects.leasable = true;
  }

  #note(row: CoreRow, next: NextFacts): void {
    this.#sql.run(
      'update runs set accepted = ?, cancel_why = ?, authorised = ? where id = ?',
      next.accepted ? 1 : 0,
      next.cancelWhy,
      next.authorised ? 1 : 0,
      row.id,
    );
  }

  #queue(row: CoreRow, next: NextFacts): void {
    this.#sql.run(
      `update runs set state = 1, lost_count = ?, authorised = ?, accepted = 0, account = null, machine = null, session = null,
         lease_key = null, queued_at = ?, started_at = null, lease_until = null, steps = '[]', log_length = 0
       where id = ?`,
      next.lostCount,
      next.authorised ? 1 : 0,
      this.#clock.now(),
      row.id,
    );
  }

  #end(row: CoreRow, next: NextFacts, effects: Effects): void {
    this.#sql.run(
      `update runs set state = ?, ready = 0, lost_count = ?, lease_until = null, ended_at = ?, cancel_why = ?,
         reason = ?, detail = ?
       where id = ?`,
      numberOf(next.state),
      next.lostCount,
      this.#clock.now(),
      next.cancelWhy,
      next.reason,
      next.detail.slice(0, 500),
      row.id,
    );
    if (next.state === 'passed') this.#meetNeed(row.id, effects);
    else this.#cancelDependents(row, next.state, effects);
    if (row.fail_fast !== null && failsFast(next.state)) this.#cancelMatrix(row, next.state, effects);
  }

  #follow(row: CoreRow, before: RunState, after: RunState, effects: Effects): void {
    if (before === 'running') {
      this.#lanes.countRunning(row.repository, -1);
      effects.leasable = true;
    }
    if (isFinal(after)) {
      this.#lanes.refreshHead(row.lane);
      if (row.serial !== null) this.#releaseSerial(row.serial, effects);
    } else {
      this.refreshReady(row.id, effects);
    }
  }

  #releaseSerial(serial: string, effects: Effects): void {
    const first = this.#sql.get<{ id: number | null }>(
      'select min(id) as id from runs where serial = ? and state < 3',
      serial,
    );
    if (first?.id != null) this.refreshReady(first.id, effects);
  }

  #meetNeed(run: number, effects: Effects): void {
    for (const { id } of this.#dependentsOf(run)) {
      this.#sql.run('update runs set unmet = unmet - 1 where id = ?', id);
      this.refreshReady(id, effects);
    }
  }

  /** Also those that need it through others, each naming the run that began it. */
  #cancelDependents(root: CoreRow, state: RunState, effects: Effects): void {
    const event = { type: 'need-unpassed', key: root.key, run: root.id, state } as const;
    const open = [root.id];
    for (let run = open.pop(); run !== undefined; run = open.pop()) {
      for (const row of this.#dependentsOf(run)) {
        const next = nextOf(factsOf(row), event);
        if (next === null) continue;
        this.#sql.run(
          `update runs set state = ?, ready = 0, ended_at = ?, reason = ?, detail = ? where id = ?`,
          numberOf(next.state),
          this.#clock.now(),
          next.reason,
          next.detail.slice(0, 500),
          row.id,
        );
        effects.changed.add(row.id);
        this.#follow(row, stateOf(row.state), next.state, effects);
        open.push(row.id);
      }
    }
  }

  /** The other runs of its matrix; what needs them needs it too, and has been cancelled. */
  #cancelMatrix({ id, key, fail_fast: job }: CoreRow, state: RunState, effects: Effects): void {
    const others = this.#sql.all<CoreRow>(
      `select ${CORE} from runs
       where pipeline = (select pipeline from runs where id = ?) and fail_fast = ? and state < 3 order by id`,
      id,
      job,
    );
    const why = `${key} (run ${id}) ended ${state}, and the matrix fails fast`;
    for (const row of others) this.apply(row, { type: 'cancelled', why }, effects);
  }

  #dependentsOf(run: number): CoreRow[] {
    return this.#sql.all<CoreRow>(
      `select ${CORE} from runs where id in (select run from needs where needed = ?) order by id`,
      run,
    );
  }
}
