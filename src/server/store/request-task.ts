import type { TaskRequest } from './control.ts';
import type { Sql } from './sql.ts';
import type { Effects } from './writer.ts';

/** Changes that follow one another this fast are shown as one. */
const QUIET_MS: Readonly<Record<TaskRequest['kind'], number>> = {
  authorise: 0,
  abort: 0,
  comment: 200,
  reply: 0,
  status: 200,
};

/**
 * Runs inside a write of the store: the task is there if and only if what causes it is. A task for the same
 * subject is asked for once more, unless it was last asked for the very same; one that fails keeps its place
 * in the backoff, and a dead one has a new life.
 */
export function requestTask(sql: Sql, task: TaskRequest, now: number, effects: Effects): void {
  const { changes } = sql.run(
    `insert into tasks (kind, repository, subject, lane, payload, due_at, created_at, updated_at)
     select ?, repository, ?, ?, ?, ?, ?, ? from forges where repository = ?
     on conflict do update set
       payload = excluded.payload, wanted = wanted + 1, updated_at = excluded.updated_at,
       attempts = case when state >= 2 then 0 else attempts end,
       due_at = case when state >= 2 then excluded.due_at else due_at end,
       state = case when state >= 2 then 0 else state end
     where payload <> excluded.payload`,
    task.kind,
    task.subject,
    `${task.kind} ${task.repository}`,
    JSON.stringify(task.payload),
    now + QUIET_MS[task.kind],
    now,
    now,
    task.repository,
  );
  if (changes > 0) effects.tasks = true;
}
