import { planRetry, type RetriedRun } from './plan-retry.ts';
import { stateOf } from './rows.ts';
import type { Settle } from './settle.ts';
import type { Sql } from './sql.ts';
import type { Retried, RetryRequest } from './store.ts';
import type { Effects } from './writer.ts';

interface Parts {
  readonly sql: Sql;
  readonly settle: Settle;
}

interface Original {
  readonly repository: string;
  readonly fault: string | null;
  readonly created_at: number;
}

/**
 * Runs inside a write of the store. What is executed again is copied as it is stored, so that neither a
 * workflow that has changed since nor anything else of today can give it more than it had.
 */
export function retryPipeline(
  { sql, settle }: Parts,
  { pipeline, runs: asked }: RetryRequest,
  now: number,
  effects: Effects,
): Retried | null {
  const original = sql.get<Original>(
    'select repository, fault, created_at from pipelines where id = ?',
    pipeline,
  );
  if (!original) return null;
  const refused = whyNot(sql, pipeline, original);
  if (refused !== null) return { refused };
  const runs = runsOf(sql, pipeline);
  const plan = planRetry(pipeline, runs, asked);
  if ('refused' in plan) return plan;
  const id = copyPipeline(sql, pipeline, now);
  const chosen = new Set(plan.runs);
  const copies = new Map<number, number>();
  // by id, and so each after those that it needs
  for (const run of runs) {
    if (!chosen.has(run.id)) continue;
    const copy = copyRun(sql, run, id, copies, now);
    copies.set(run.id, copy);
    effects.changed.add(copy);
    settle.refreshReady(copy, effects);
  }
  return { pipeline: id, runs: [...copies.values()] };
}

/** Another repository of the same name has other secrets. */
function whyNot(sql: Sql, pipeline: number, { repository, fault, created_at }: Original): string | null {
  if (fault !== null)
    return `pipeline ${pipeline} has no runs, its workflow file has a fault: correct it, and push or submit that commit`;
  const now = sql.get<{ added_at: number }>('select added_at from repositories where name = ?', repository);
  if (!now)
    return `repository ${repository} is not registered any more: \`vole repo ls\` lists those that are`;
  return now.added_at > created_at
    ? `repository ${repository} was registered anew after pipeline ${pipeline}: \`vole submit ${repository}\` runs what it has now`
    : null;
}

function runsOf(sql: Sql, pipeline: number): RetriedRun[] {
  const needs = new Map<number, number[]>();
  const pairs = sql.all<{ run: number; needed: number }>(
    'select n.run, n.needed from runs r join needs n on n.run = r.id where r.pipeline = ? order by n.needed',
    pipeline,
  );
  for (const { run, needed } of pairs) {
    const known = needs.get(run);
    if (known) known.push(needed);
    else needs.set(run, [needed]);
  }
  const rows = sql.all<Omit<RetriedRun, 'state' | 'needs'> & { state: number }>(
    `select id, job, kind, state, (
       select o.id from runs o where o.origin = coalesce(runs.origin, runs.id) and o.state < 3 limit 1
     ) as retriedAs
     from runs where pipeline = ? order by id`,
    pipeline,
  );
  return rows.map((row) => ({ ...row, state: stateOf(row.state), needs: needs.get(row.id) ?? [] }));
}

function copyPipeline(sql: Sql, pipeline: number, now: number): number {
  return sql.run(
    `insert into pipelines (repository, event, ref, sha, trust, title, fault, created_at, retry_of)
     select repository, event, ref, sha, trust, title, null, ?, id from pipelines where id = ?`,
    now,
    pipeline,
  ).id;
}

/** It needs the copies of what it needed, and of what had passed that run itself. */
function copyRun(
  sql: Sql,
  { id, needs }: RetriedRun,
  pipeline: number,
  copies: ReadonlyMap<number, number>,
  now: number,
): number {
  const copy = sql.run(
    `insert into runs (pipeline, lane, repository, key, job, kind, state, unmet, retry_lost, serial, created_at,
       queued_at, needs, labels, cpus, memory_bytes, spec, supersede, fail_fast, origin)
     select ?, lane, repository, key, job, kind, 1, ?, retry_lost, serial, ?,
       ?, needs, labels, cpus, memory_bytes, spec, supersede, fail_fast, coalesce(origin, id)
     from runs where id = ?`,
    pipeline,
    needs.filter((need) => copies.has(need)).length,
    now,
    now,
    id,
  ).id;
  for (const need of needs)
    sql.run('insert into needs (needed, run) values (?, ?)', copies.get(need) ?? need, copy);
  return copy;
}
