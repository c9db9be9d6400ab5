import type { RunState } from '../../shared/outcome.ts';
import { stateOf } from './rows.ts';
import type { Sql } from './sql.ts';
import type { Pipeline, PipelineFilter, PipelineSummary } from './store.ts';

export const SELECT_PIPELINE = `
  select id, repository, event, ref, sha, trust, title, fault, retry_of as retryOf, created_at as createdAt
  from pipelines`;

/** The latest first. */
export function listPipelines(sql: Sql, filter: PipelineFilter): PipelineSummary[] {
  const { repository, after = 0, before = Number.MAX_SAFE_INTEGER } = filter;
  const wanted = [
    'id > ? and id < ?',
    ...(repository === undefined ? [] : ['repository = ?']),
    ...(filter.faulty ? ['fault is not null'] : []),
  ];
  const pipelines = sql.all<Omit<Pipeline, 'runs'>>(
    `${SELECT_PIPELINE} where ${wanted.join(' and ')} order by id desc limit ?`,
    after,
    before,
    ...(repository === undefined ? [] : [repository]),
    filter.limit,
  );
  const states = statesOf(
    sql,
    pipelines.map(({ id }) => id),
  );
  return pipelines.map((pipeline) => ({ ...pipeline, states: states.get(pipeline.id) ?? {} }));
}

function statesOf(sql: Sql, pipelines: readonly number[]): Map<number, Partial<Record<RunState, number>>> {
  const counts = sql.all<{ pipeline: number; state: number; n: number }>(
    `select pipeline, state, count(*) as n from runs
     where pipeline in (select value from json_each(?)) group by pipeline, state`,
    JSON.stringify(pipelines),
  );
  const states = new Map<number, Partial<Record<RunState, number>>>();
  for (const { pipeline, state, n } of counts)
    states.set(pipeline, { ...states.get(pipeline), [stateOf(state)]: n });
  return states;
}
