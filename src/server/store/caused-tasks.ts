import { requestTask } from './request-task.ts';
import { stateOf } from './rows.ts';
import type { Sql } from './sql.ts';
import type { Effects } from './writer.ts';

interface Changed {
  id: number;
  repository: string;
  sha: string;
  key: string;
  kind: 'job' | 'command';
  state: number;
  commanded: number;
  cancelling: number;
}

/**
 * The tasks that a write causes: whatever changed a run, its status or comment follows, and a command that
 * was received is to be authorised. Called inside the write, so that none is lost or there without a cause.
 */
export function requestCausedTasks(sql: Sql, effects: Effects, now: number): void {
  for (const run of effects.changed) {
    const row = sql.get<Changed>(
      `select r.id, r.repository, p.sha, r.key, r.kind, r.state, c.run is not null as commanded,
         r.state = 2 and r.cancel_why is not null as cancelling
       from runs r join forges f on f.repository = r.repository join pipelines p on p.id = r.pipeline
       left join commands c on c.run = r.id where r.id = ?`,
      run,
    );
    if (row) requestForRun(sql, row, effects, now);
  }
  for (const id of effects.faulty) {
    const row = sql.get<{ repository: string; sha: string }>(
      'select repository, sha from pipelines where id = ?',
      id,
    );
    if (!row) continue;
    const { repository, sha } = row;
    const payload = { sha, key: '', run: id, state: 'failed' };
    requestTask(sql, { kind: 'status', repository, subject: sha, payload }, now, effects);
  }
}

function requestForRun(sql: Sql, row: Changed, effects: Effects, now: number): void {
  const { id: run, repository, sha, key } = row;
  const state = stateOf(row.state);
  if (row.kind === 'job') {
    const payload = { sha, key, run, state };
    requestTask(sql, { kind: 'status', repository, subject: `${sha} ${key}`, payload }, now, effects);
    return;
  }
  if (row.commanded === 0) return;
  const subject = String(run);
  const shown = row.cancelling === 1 ? 'cancelling' : state;
  if (state === 'received')
    requestTask(sql, { kind: 'authorise', repository, subject, payload: { run } }, now, effects);
  requestTask(sql, { kind: 'comment', repository, subject, payload: { run, state: shown } }, now, effects);
}
