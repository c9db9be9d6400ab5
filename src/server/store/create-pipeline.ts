import type { CommandFacts } from './control.ts';
import type { Lanes } from './lanes.ts';
import { needsFirst } from './order-runs.ts';
import { numberOf } from './rows.ts';
import type { Settle } from './settle.ts';
import type { Sql } from './sql.ts';
import type { NewPipeline, NewRun, UnpreparedRun } from './store.ts';
import type { Effects } from './writer.ts';

interface Parts {
  readonly sql: Sql;
  readonly lanes: Lanes;
  readonly settle: Settle;
}

/** Runs inside a write of the store. The ids are in the order of the given runs. */
export function createPipeline(
  parts: Parts,
  pipeline: NewPipeline,
  now: number,
  effects: Effects,
): { pipeline: number; runs: number[] } {
  const { id } = parts.sql.run(
    `insert into pipelines (repository, event, ref, sha, trust, title, fault, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
    pipeline.repository,
    pipeline.event,
    pipeline.ref,
    pipeline.sha,
    pipeline.trust,
    pipeline.title,
    pipeline.fault,
    now,
  );
  if (pipeline.fault !== null) effects.faulty.add(id);
  const ids: number[] = [];
  const byKey = new Map<string, number>();
  for (const at of needsFirst(pipeline.runs)) {
    const run = pipeline.runs[at] as NewRun | UnpreparedRun;
    const made = insertRun(parts, pipeline.repository, id, run, now);
    ids[at] = made;
    byKey.set(run.key, made);
    if (run.command) insertCommand(parts.sql, made, pipeline.repository, run.command);
    for (const need of new Set(run.needs))
      parts.sql.run('insert into needs (needed, run) values (?, ?)', byKey.get(need) as number, made);
    effects.changed.add(made);
    parts.settle.refreshReady(made, effects);
  }
  if (pipeline.supersedes) supersedeOlder(parts, { ...pipeline, id }, effects);
  return { pipeline: id, runs: ids };
}

/** Only what is queued: a run that has begun goes on to its end. */
function supersedeOlder(
  { sql, settle }: Parts,
  by: Pick<NewPipeline, 'repository' | 'ref' | 'event'> & { id: number },
  effects: Effects,
): void {
  const older = sql.all<{ id: number }>(
    // SQLite would look through all that are queued
    `select r.id from runs r indexed by runs_to_supersede join pipelines p on p.id = r.pipeline
     where r.repository = ? and r.state = 1 and r.supersede = 1 and p.id < ? and p.ref = ? and p.event = ?
     order by r.id`,
    by.repository,
    by.id,
    by.ref,
    by.event,
  );
  for (const { id } of older) {
    // by now it may have ended with another that it needed
    const row = settle.find(id);
    if (row) settle.apply(row, { type: 'cancelled', why: `superseded by pipeline ${by.id}` }, effects);
  }
}

function insertRun(
  parts: Parts,
  repository: string,
  pipeline: number,
  run: NewRun | UnpreparedRun,
  now: number,
): number {
  return parts.sql.run(
    `insert into runs (pipeline, lane, repository, key, job, kind, state, unmet, retry_lost, serial, created_at,
       queued_at, needs, labels, cpus, memory_bytes, spec, prepared, supersede, fail_fast)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    pipeline,
    parts.lanes.laneFor(repository, run),
    repository,
    run.key,
    run.job,
    run.kind,
    numberOf(run.state),
    new Set(run.needs).size,
    run.retryLost ? 1 : 0,
    run.serial,
    now,
    run.state === 'queued' ? now : null,
    JSON.stringify(run.needs),
    JSON.stringify(run.labels),
    run.cpus,
    run.memoryBytes,
    JSON.stringify(run.spec),
    run.spec === null ? 0 : 1,
    run.supersede ? 1 : 0,
    run.failFast,
  ).id;
}

function insertCommand(sql: Sql, run: number, repository: string, command: CommandFacts): void {
  sql.run(
    'insert into commands (run, repository, issue, comment, author, name) values (?, ?, ?, ?, ?, ?)',
    run,
    repository,
    command.issue,
    command.comment,
    command.author,
    command.name,
  );
}
