import type { Lanes } from './lanes.ts';
import type { Settle } from './settle.ts';
import type { Sql } from './sql.ts';
import type { PreparedRun } from './store.ts';
import type { Effects } from './writer.ts';

interface Parts {
  readonly sql: Sql;
  readonly lanes: Lanes;
  readonly settle: Settle;
}

/** Runs inside a write of the store. */
export function prepareRun(
  parts: Parts,
  id: number,
  found: PreparedRun | { readonly fault: string },
  effects: Effects,
): boolean {
  const { sql, lanes, settle } = parts;
  const row = settle.find(id);
  if (!row || row.prepared === 1) return false;
  if ('fault' in found)
    return settle.apply(row, { type: 'unpreparable', why: found.fault }, effects) !== null;
  const { run, ref, sha, trust } = found;
  const lane = lanes.laneFor(row.repository, run);
  const state = settle.apply({ ...row, lane }, { type: 'prepared' }, effects);
  if (state === null) return false;
  sql.run(
    `update runs set prepared = 1, lane = ?, job = ?, retry_lost = ?, labels = ?, cpus = ?, memory_bytes = ?,
       spec = ? where id = ?`,
    lane,
    run.job,
    run.retryLost ? 1 : 0,
    JSON.stringify(run.labels),
    run.cpus,
    run.memoryBytes,
    JSON.stringify(run.spec),
    id,
  );
  sql.run(
    'update pipelines set ref = ?, sha = ?, trust = ? where id = (select pipeline from runs where id = ?)',
    ref,
    sha,
    trust,
    id,
  );
  // readiness was judged by the lane that it had until now
  settle.refreshReady(id, effects);
  lanes.refreshHead(row.lane);
  lanes.refreshHead(lane);
  return true;
}
