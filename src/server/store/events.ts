import type { ForgeKind } from '../../shared/api-forge.ts';
import type { Clock } from '../../shared/platform/clock.ts';
import { commentOf, type HookEvent, type Lane, laneOf } from '../events/event.ts';
import { createPipeline } from './create-pipeline.ts';
import type { EventFilter, EventResult, EventStore, NewEvent, StoredEvent } from './event-store.ts';
import type { Lanes } from './lanes.ts';
import { requestTask } from './request-task.ts';
import { Settle } from './settle.ts';
import type { Sql } from './sql.ts';
import type { Effects, Writer } from './writer.ts';

interface EventRow {
  id: number;
  repository: string;
  forge: ForgeKind;
  delivery: string;
  content: string;
  received_at: number;
  pending: number;
  result: string;
  pipeline: number | null;
}

const SELECT =
  'select id, repository, forge, delivery, content, received_at, pending, result, pipeline from events';

export class SqliteEvents implements EventStore {
  readonly #sql: Sql;
  readonly #writer: Writer;
  readonly #lanes: Lanes;
  readonly #settle: Settle;
  readonly #clock: Clock;

  constructor(sql: Sql, writer: Writer, lanes: Lanes, clock: Clock) {
    this.#sql = sql;
    this.#writer = writer;
    this.#lanes = lanes;
    this.#settle = new Settle(sql, lanes, clock);
    this.#clock = clock;
  }

  receive(event: NewEvent): Promise<{ event: number; repeated: boolean }> {
    return this.#writer.write(() => {
      const before = this.#find(event);
      if (before !== null) return { event: before, repeated: true };
      const { id } = this.#sql.run(
        `insert into events (repository, forge, delivery, digest, comment, lane, content, received_at)
         values (?, ?, ?, ?, ?, ?, ?, ?)`,
        event.repository,
        event.forge,
        event.delivery,
        event.digest,
        commentOf(event.event),
        laneOf(event.event),
        JSON.stringify(event.event),
        this.#clock.now(),
      );
      return { event: id, repeated: false };
    });
  }

  async pending(lane: Lane, limit: number, repository?: string): Promise<StoredEvent[]> {
    const rows =
      repository === undefined
        ? this.#sql.all<EventRow>(`${SELECT} where lane = ? and pending = 1 order by id limit ?`, lane, limit)
        : this.#sql.all<EventRow>(
            `${SELECT} where lane = ? and pending = 1 and repository = ? order by id limit ?`,
            lane,
            repository,
            limit,
          );
    return rows.map(eventOf);
  }

  async repositoriesPending(lane: Lane): Promise<string[]> {
    const rows = this.#sql.all<{ repository: string }>(
      'select distinct repository from events where lane = ? and pending = 1',
      lane,
    );
    return rows.map(({ repository }) => repository);
  }

  settle(event: number, result: EventResult): Promise<{ pipeline: number | null; runs: number[] } | null> {
    return this.#writer.write((effects) => this.#settleOne(event, result, effects));
  }

  async ofPipeline(pipeline: number): Promise<StoredEvent | null> {
    const row = this.#sql.get<EventRow>(`${SELECT} where pipeline = ?`, pipeline);
    return row ? eventOf(row) : null;
  }

  async list({ repository, pendingOnly, limit, before }: EventFilter): Promise<StoredEvent[]> {
    const wanted = [
      'id < ?',
      ...(repository === undefined ? [] : ['repository = ?']),
      ...(pendingOnly ? ['pending = 1'] : []),
    ];
    const rows = this.#sql.all<EventRow>(
      `${SELECT} where ${wanted.join(' and ')} order by id desc limit ?`,
      before ?? Number.MAX_SAFE_INTEGER,
      ...(repository === undefined ? [] : [repository]),
      limit,
    );
    return rows.map(eventOf);
  }

  #settleOne(
    event: number,
    { result, pipeline, abort }: EventResult,
    effects: Effects,
  ): { pipeline: number | null; runs: number[] } | null {
    const { changes } = this.#sql.run(
      'update events set pending = 0, result = ? where id = ? and pending = 1',
      result.slice(0, 500),
      event,
    );
    if (changes === 0) return null;
    if (abort !== undefined) this.#requestAbort(event, abort, effects);
    if (pipeline === undefined) return { pipeline: null, runs: [] };
    const parts = { sql: this.#sql, lanes: this.#lanes, settle: this.#settle };
    const made = createPipeline(parts, pipeline, this.#clock.now(), effects);
    this.#sql.run('update events set pipeline = ? where id = ?', made.pipeline, event);
    return made;
  }

  #requestAbort(event: number, abort: NonNullable<EventResult['abort']>, effects: Effects): void {
    const { repository = '' } =
      this.#sql.get<{ repository: string }>('select repository from events where id = ?', event) ?? {};
    const last = this.#sql.get<{ id: number | null }>('select max(id) as id from runs');
    const payload = { ...abort, upToRun: last?.id ?? 0 };
    const task = { kind: 'abort', repository, subject: String(abort.comment), payload } as const;
    requestTask(this.#sql, task, this.#clock.now(), effects);
  }

  #find(event: NewEvent): number | null {
    const seen = this.#sql.get<{ id: number }>(
      `select id from events where repository = ? and delivery = ?
       union all select id from events where repository = ? and digest = ?
       union all select id from events where repository = ? and comment = ?
       limit 1`,
      event.repository,
      event.delivery,
      event.repository,
      event.digest,
      event.repository,
      commentOf(event.event),
    );
    return seen?.id ?? null;
  }
}

function eventOf(row: EventRow): StoredEvent {
  return {
    id: row.id,
    repository: row.repository,
    forge: row.forge,
    delivery: row.delivery,
    event: JSON.parse(row.content) as HookEvent,
    receivedAt: row.received_at,
    pending: row.pending === 1,
    result: row.result,
    pipeline: row.pipeline,
  };
}
