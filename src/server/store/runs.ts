import type { RunOutcome, RunState } from '../../shared/outcome.ts';
import { type FinalState, isFinal } from '../../shared/outcome.ts';
import type { Clock } from '../../shared/platform/clock.ts';
import { keepAgentResult } from './agents.ts';
import { claimRun, parsedSpec } from './claims.ts';
import { createPipeline } from './create-pipeline.ts';
import type { Lanes } from './lanes.ts';
import { checkLease } from './lease-check.ts';
import { listPipelines, SELECT_PIPELINE } from './list-pipelines.ts';
import { prepareRun } from './prepare.ts';
import { retryPipeline } from './retry-pipeline.ts';
import { CORE, type CoreRow, numberOf, type RunRow, runOf, SELECT_RUN, stateOf } from './rows.ts';
import { Settle } from './settle.ts';
import { smallLogLength } from './small-logs.ts';
import type { Sql } from './sql.ts';
import type {
  Claim,
  ClaimedRun,
  LeaseCheck,
  NewPipeline,
  Pipeline,
  PipelineFilter,
  PipelineSummary,
  PreparedRun,
  Retried,
  RetryRequest,
  Run,
  RunStore,
  WaitReason,
} from './store.ts';
import { waitOf } from './wait.ts';
import type { Writer } from './writer.ts';

/** Nothing unfinished of its serial key comes before it. */
const IN_TURN = `and (serial is null or not exists (
  select 1 from runs o where o.serial = runs.serial and o.state < 3 and o.id < runs.id))`;

type IsGivenBack = NonNullable<Parameters<RunStore['sessionEnded']>[1]>;

/** Of a lease's time: one that has more of it left counts as just renewed. */
const FRESH_SHARE = 0.95;

export class SqliteRuns implements RunStore {
  readonly #sql: Sql;
  readonly #writer: Writer;
  readonly #lanes: Lanes;
  readonly #settle: Settle;
  readonly #clock: Clock;
  /** As the latest claim had it: the cap is a setting of the server, not a fact of the store. */
  #maxCommands: number | null = null;

  constructor(sql: Sql, writer: Writer, lanes: Lanes, clock: Clock) {
    this.#sql = sql;
    this.#writer = writer;
    this.#lanes = lanes;
    this.#settle = new Settle(sql, lanes, clock);
    this.#clock = clock;
  }

  createPipeline(pipeline: NewPipeline): Promise<{ pipeline: number; runs: number[] }> {
    return this.#writer.write((effects) =>
      createPipeline(this.#parts(), pipeline, this.#clock.now(), effects),
    );
  }

  retry(request: RetryRequest): Promise<Retried | null> {
    return this.#writer.write((effects) => retryPipeline(this.#parts(), request, this.#clock.now(), effects));
  }

  async pipeline(id: number): Promise<Pipeline | null> {
    const row = this.#sql.get<Omit<Pipeline, 'runs'>>(`${SELECT_PIPELINE} where id = ?`, id);
    if (!row) return null;
    const runs = this.#sql.all<{ id: number }>('select id from runs where pipeline = ? order by id', id);
    return { ...row, runs: runs.map((run) => run.id) };
  }

  async pipelines(filter: PipelineFilter): Promise<PipelineSummary[]> {
    return listPipelines(this.#sql, filter);
  }

  async get(id: number): Promise<Run | null> {
    const row = this.#sql.get<RunRow>(`${SELECT_RUN} where r.id = ?`, id);
    return row ? runOf(row) : null;
  }

  /** The latest first. */
  async list(filter: {
    repository?: string;
    states?: readonly RunState[];
    pipeline?: number;
    limit: number;
    before?: number;
  }): Promise<Run[]> {
    const states = filter.states === undefined ? null : [...new Set(filter.states)].map(numberOf);
    const wanted: readonly [string, string | number | undefined][] = [
      ['r.repository = ?', filter.repository],
      ['r.pipeline = ?', filter.pipeline],
      ['r.id < ?', filter.before],
    ];
    const conditions = wanted.filter(([, value]) => value !== undefined);
    const where = [
      ...conditions.map(([condition]) => condition),
      ...(states ? [`r.state in (${states.map(() => '?').join(', ')})`] : []),
    ];
    const rows = this.#sql.all<RunRow>(
      `${SELECT_RUN} ${where.length > 0 ? `where ${where.join(' and ')}` : ''} order by r.id desc limit ?`,
      ...conditions.map(([, value]) => value ?? null),
      ...(states ?? []),
      filter.limit,
    );
    return rows.map(runOf);
  }

  async latestAt(repository: string, sha: string, key: string): Promise<Run | null> {
    const row = this.#sql.get<RunRow>(
      `${SELECT_RUN} where p.repository = ? and p.sha = ? and r.key = ? and r.kind = 'job'
       order by r.id desc limit 1`,
      repository,
      sha,
      key,
    );
    return row ? runOf(row) : null;
  }

  async latestFaultAt(repository: string, sha: string): Promise<{ pipeline: number; fault: string } | null> {
    const row = this.#sql.get<{ pipeline: number; fault: string }>(
      `select id as pipeline, fault from pipelines
       where repository = ? and sha = ? and fault is not null order by id desc limit 1`,
      repository,
      sha,
    );
    return row ?? null;
  }

  async specOf(id: number): Promise<unknown> {
    const row = this.#sql.get<{ spec: string }>('select spec from runs where id = ?', id);
    return row ? parsedSpec(row.spec) : null;
  }

  claim(claim: Claim): Promise<ClaimedRun | null> {
    this.#maxCommands = claim.maxCommands;
    return this.#writer.write((effects) => claimRun(this.#parts(), claim, this.#clock.now(), effects));
  }

  heartbeat(account: string, run: number, attempt: number, leaseMs: number): Promise<LeaseCheck> {
    return this.#renewed(account, run, attempt, leaseMs, true);
  }

  renew(account: string, run: number, attempt: number, leaseMs: number): Promise<LeaseCheck> {
    return this.#renewed(account, run, attempt, leaseMs, false);
  }

  record(
    account: string,
    run: number,
    attempt: number,
    outcome: RunOutcome,
    logLength: number,
    how = { smallLog: false },
  ): Promise<LeaseCheck | 'short'> {
    return this.#writer.write((effects) => {
      const row = this.#settle.find(run);
      const check = checkLease(row, account, attempt);
      if (!check.ok && row && isRepeated(row, account, attempt, outcome))
        return { ok: true, cancelWhy: null };
      if (!check.ok || !row) return check;
      if (how.smallLog && (smallLogLength(this.#sql, run, attempt) ?? 0) < logLength) return 'short';
      const state = this.#settle.apply(row, { type: 'recorded', outcome }, effects);
      if (state !== null && isFinal(state)) {
        this.#sql.run(
          'update runs set steps = ?, log_length = ? where id = ?',
          JSON.stringify(outcome.steps),
          logLength,
          run,
        );
        keepAgentResult(this.#sql, run, outcome);
      }
      return check;
    });
  }

  sessionEnded(session: string, isGivenBack: IsGivenBack = () => true): Promise<number[]> {
    const where = 'state = 2 and session = ? and accepted = 0';
    return this.#applyToAll(where, session, { type: 'session-ended' }, isGivenBack);
  }

  cancel(run: number, why: string): Promise<'cancelled' | 'cancelling' | 'not-found' | FinalState> {
    return this.#writer.write((effects) => {
      const row = this.#settle.find(run);
      if (!row) return 'not-found';
      const state = this.#settle.apply(row, { type: 'cancelled', why }, effects) ?? stateOf(row.state);
      return isFinal(state) ? state : 'cancelling';
    });
  }

  expire(): Promise<number[]> {
    return this.#applyToAll('state = 2 and lease_until <= ?', this.#clock.now(), { type: 'expired' });
  }

  async nextExpiry(): Promise<number | null> {
    const row = this.#sql.get<{ at: number | null }>(
      'select min(lease_until) as at from runs where state = 2',
    );
    return row?.at ?? null;
  }

  renewAll(leaseMs: number): Promise<void> {
    return this.#writer.write(() => {
      this.#sql.run('update runs set lease_until = ? where state = 2', this.#clock.now() + leaseMs);
    });
  }

  authorise(run: number, allowed: boolean, why: string): Promise<boolean> {
    return this.#writer.write((effects) => {
      const row = this.#settle.find(run);
      if (!row) return false;
      const state = this.#settle.apply(
        row,
        allowed ? { type: 'authorised' } : { type: 'refused', why },
        effects,
      );
      return state !== null;
    });
  }

  async toPrepare(repository: string, inTurn = false): Promise<number[]> {
    const rows = this.#sql.all<{ id: number }>(
      `select id from runs where repository = ? and state = 0 and authorised = 1 ${inTurn ? IN_TURN : ''} order by id`,
      repository,
    );
    return rows.map(({ id }) => id);
  }

  async repositoriesToPrepare(inTurn = false): Promise<string[]> {
    const rows = this.#sql.all<{ repository: string }>(
      // SQLite would look through all that are received
      `select distinct repository from runs indexed by runs_to_prepare
       where state = 0 and authorised = 1 ${inTurn ? IN_TURN : ''}`,
    );
    return rows.map(({ repository }) => repository);
  }

  prepare(run: number, found: PreparedRun | { readonly fault: string }): Promise<boolean> {
    return this.#writer.write((effects) => prepareRun(this.#parts(), run, found, effects));
  }

  async why(run: number): Promise<WaitReason | null> {
    return waitOf(this.#sql, run, this.#maxCommands);
  }

  /** A lease that has nearly its full time is not written again: a commit for each frame buys nothing. */
  async #renewed(
    account: string,
    run: number,
    attempt: number,
    leaseMs: number,
    accepts: boolean,
  ): Promise<LeaseCheck> {
    const known = this.#settle.find(run);
    const fresh = (known?.lease_until ?? 0) - this.#clock.now() > leaseMs * FRESH_SHARE;
    if (known && fresh && !(accepts && known.accepted === 0)) {
      const check = checkLease(known, account, attempt);
      if (check.ok) return check;
    }
    return await this.#writer.write((effects) => {
      const row = this.#settle.find(run);
      const check = checkLease(row, account, attempt);
      if (!check.ok || !row) return check;
      if (accepts) this.#settle.apply(row, { type: 'accepted' }, effects);
      this.#sql.run('update runs set lease_until = ? where id = ?', this.#clock.now() + leaseMs, run);
      return check;
    });
  }

  /** The runs whose state it changed. */
  #applyToAll(
    where: string,
    value: string | number,
    event: { type: 'session-ended' } | { type: 'expired' },
    among: IsGivenBack = () => true,
  ): Promise<number[]> {
    return this.#writer.write((effects) => {
      const rows = this.#sql.all<CoreRow>(`select ${CORE} from runs where ${where} order by id`, value);
      const wanted = rows.filter(({ id, attempt }) => among({ run: id, attempt }));
      return wanted.filter((row) => this.#settle.apply(row, event, effects) !== null).map((row) => row.id);
    });
  }

  #parts(): { sql: Sql; lanes: Lanes; settle: Settle } {
    return { sql: this.#sql, lanes: this.#lanes, settle: this.#settle };
  }
}

/** The same report again, since its reply was lost on the way. */
function isRepeated(row: CoreRow, account: string, attempt: number, outcome: RunOutcome): boolean {
  return row.account === account && row.attempt === attempt && stateOf(row.state) === outcome.result;
}
