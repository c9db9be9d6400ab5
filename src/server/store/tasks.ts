import { TASK_STATES, type TaskKind, type TaskState } from '../../shared/api-forge.ts';
import type { Clock } from '../../shared/platform/clock.ts';
import type { Task, TaskEnd, TaskRequest, TaskRow, TaskStore } from './control.ts';
import { requestTask } from './request-task.ts';
import type { Sql } from './sql.ts';
import type { Writer } from './writer.ts';

/** No task waits longer: where one seems to, the clock was set back. */
const LONGEST_WAIT_MS = 3 * 3_600_000;
const MARKER = /<!-- vole:(?<what>run|comment):(?<id>[1-9]\d{0,14}) -->/;

interface Row {
  id: number;
  kind: TaskKind;
  repository: string;
  subject: string;
  payload: string;
  state: number;
  wanted: number;
  attempts: number;
  due_at: number;
  unsure: number;
  memory: string;
  error: string;
  created_at: number;
  updated_at: number;
}

export class SqliteTasks implements TaskStore {
  readonly #sql: Sql;
  readonly #writer: Writer;
  readonly #clock: Clock;

  constructor(sql: Sql, writer: Writer, clock: Clock) {
    this.#sql = sql;
    this.#writer = writer;
    this.#clock = clock;
  }

  request(task: TaskRequest): Promise<void> {
    return this.#writer.write((effects) => requestTask(this.#sql, task, this.#clock.now(), effects));
  }

  recover(): Promise<number> {
    return this.#writer.write(
      () =>
        this.#sql.run('update tasks set state = 0, unsure = 1, due_at = ? where state = 1', this.#clock.now())
          .changes,
    );
  }

  claim(perLane: number): Promise<Task | null> {
    return this.#writer.write(() => {
      const now = this.#clock.now();
      this.#sql.run('update tasks set due_at = ? where state = 0 and due_at > ?', now, now + LONGEST_WAIT_MS);
      const id = this.#mostOverdue(now, perLane);
      if (id === null) return null;
      this.#sql.run('update tasks set state = 1, updated_at = ? where id = ?', now, id);
      const row = this.#sql.get<Row>('select * from tasks where id = ?', id);
      return row ? taskOf(row) : null;
    });
  }

  finish(task: Pick<Task, 'id' | 'wanted'>, end: TaskEnd): Promise<void> {
    return this.#writer.write((effects) => {
      const now = this.#clock.now();
      const row = this.#sql.get<Row>('select * from tasks where id = ? and state = 1', task.id);
      // Gone with its repository.
      if (!row) return;
      const next = afterEnd(row, end, row.wanted > task.wanted, now);
      this.#sql.run(
        `update tasks set state = ?, attempts = ?, due_at = ?, unsure = ?, memory = ?, error = ?, updated_at = ?
         where id = ?`,
        TASK_STATES.indexOf(next.state),
        next.attempts,
        next.dueAt,
        next.unsure ? 1 : 0,
        next.memory,
        next.error,
        now,
        task.id,
      );
      if (next.state === 'waiting') effects.tasks = true;
    });
  }

  async nextDue(): Promise<number | null> {
    const row = this.#sql.get<{ at: number | null }>(
      'select min(due_at) as at from tasks where state = 0 and due_at > ?',
      this.#clock.now(),
    );
    return row?.at ?? null;
  }

  async list(filter: { states: readonly TaskState[]; limit: number }): Promise<TaskRow[]> {
    const states = filter.states.map((state) => TASK_STATES.indexOf(state));
    const rows = this.#sql.all<Row>(
      `select * from tasks where state in (${states.map(() => '?').join(', ')}) order by id desc limit ?`,
      ...states,
      filter.limit,
    );
    return rows.map(rowOf);
  }

  retry(id: number | null): Promise<number> {
    return this.#writer.write((effects) => {
      const { changes } = this.#sql.run(
        `update tasks set state = 0, attempts = 0, unsure = 1, due_at = ?, updated_at = ?
         where state = 3 and (? is null or id = ?)`,
        this.#clock.now(),
        this.#clock.now(),
        id,
        id,
      );
      if (changes > 0) effects.tasks = true;
      return changes;
    });
  }

  commentDeleted(repository: string, body: string): Promise<boolean> {
    const found = MARKER.exec(body)?.groups;
    if (!found) return Promise.resolve(false);
    return this.#writer.write((effects) => {
      const { changes } = this.#sql.run(
        `update tasks set wanted = wanted + 1, unsure = 1,
           attempts = case when state >= 2 then 0 else attempts end,
           due_at = case when state >= 2 then ? else due_at end,
           state = case when state >= 2 then 0 else state end
         where repository = ? and kind = ? and subject = ?`,
        this.#clock.now(),
        repository,
        found['what'] === 'run' ? 'comment' : 'reply',
        found['id'] ?? '',
      );
      if (changes > 0) effects.tasks = true;
      return changes > 0;
    });
  }

  /** Probes one index entry a lane, so what waits in one costs the others nothing. */
  #mostOverdue(now: number, perLane: number): number | null {
    const row = this.#sql.get<{ id: number }>(
      `with recursive lanes (lane) as (
         select min(lane) from tasks where state = 0
         union all
         select (select min(lane) from tasks where state = 0 and lane > lanes.lane)
         from lanes where lanes.lane is not null)
       select t.id from lanes join tasks t on t.id = (
         select id from tasks where state = 0 and lane = lanes.lane and due_at <= ? order by due_at, id limit 1)
       where (select count(*) from tasks where state = 1 and lane = lanes.lane) < ?
       order by t.due_at, t.id limit 1`,
      now,
      perLane,
    );
    return row?.id ?? null;
  }
}

interface Next {
  readonly state: TaskState;
  readonly attempts: number;
  readonly dueAt: number;
  readonly unsure: boolean;
  readonly memory: string;
  readonly error: string;
}

/** `asked`: once more since it was claimed. */
function afterEnd(row: Row, end: TaskEnd, asked: boolean, now: number): Next {
  switch (end.type) {
    case 'done':
      return {
        state: asked ? 'waiting' : 'done',
        attempts: 0,
        dueAt: now,
        // Set while it was claimed: somebody has deleted what it made.
        unsure: asked && row.unsure === 1,
        memory: JSON.stringify(end.memory),
        error: '',
      };
    case 'again': {
      const attempts = row.attempts + (end.counts ? 1 : 0);
      const { memory } = row;
      return {
        state: 'waiting',
        attempts,
        dueAt: Math.ceil(now + end.inMs),
        unsure: true,
        memory,
        error: end.why,
      };
    }
    case 'dead': {
      const { memory } = row;
      const state = asked ? 'waiting' : 'dead';
      const attempts = asked ? 0 : row.attempts + 1;
      return { state, attempts, dueAt: now, unsure: true, memory, error: end.why };
    }
    default:
      return end satisfies never;
  }
}

function taskOf(row: Row): Task {
  const { id, kind, repository, subject, wanted, attempts } = row;
  return {
    id,
    kind,
    repository,
    subject,
    payload: JSON.parse(row.payload) as never,
    wanted,
    attempts,
    unsure: row.unsure === 1,
    memory: JSON.parse(row.memory) as unknown,
    createdAt: row.created_at,
  };
}

function rowOf(row: Row): TaskRow {
  return {
    id: row.id,
    kind: row.kind,
    repository: row.repository,
    subject: row.subject,
    state: TASK_STATES[row.state] ?? 'dead',
    attempts: row.attempts,
    dueAt: row.due_at,
    error: row.error,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
