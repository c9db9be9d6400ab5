import type { Trust } from '../../shared/job-spec.ts';
import { RUN_STATES, type RunState, type StepOutcome } from '../../shared/outcome.ts';
import type { RunFacts } from '../queue/transitions.ts';
import type { Run } from './store.ts';

/** What the transitions and the lanes need of a run. */
export interface CoreRow {
  id: number;
  lane: number;
  repository: string;
  key: string;
  state: number;
  attempt: number;
  lost_count: number;
  retry_lost: number;
  accepted: number;
  serial: string | null;
  account: string | null;
  cancel_why: string | null;
  lease_until: number | null;
  authorised: number;
  prepared: number;
  fail_fast: string | null;
}

export const CORE =
  'id, lane, repository, key, state, attempt, lost_count, retry_lost, accepted, serial, account, cancel_why, lease_until, authorised, prepared, fail_fast';

export function factsOf(row: CoreRow): RunFacts {
  return {
    state: stateOf(row.state),
    lostCount: row.lost_count,
    retryLost: row.retry_lost === 1,
    accepted: row.accepted === 1,
    cancelWhy: row.cancel_why,
    authorised: row.authorised === 1,
    prepared: row.prepared === 1,
  };
}

export function stateOf(number: number): RunState {
  const state = RUN_STATES[number];
  if (state === undefined) throw new Error(`no state has the number ${number}`);
  return state;
}

export function numberOf(state: RunState): number {
  return RUN_STATES.indexOf(state);
}

export interface RunRow extends CoreRow {
  pipeline: number;
  job: string;
  kind: Run['kind'];
  machine: string | null;
  session: string | null;
  created_at: number;
  queued_at: number | null;
  started_at: number | null;
  ended_at: number | null;
  lease_until: number | null;
  reason: string | null;
  detail: string;
  log_length: number;
  needs: string;
  labels: string;
  cpus: number;
  memory_bytes: number;
  steps: string;
  ref: string;
  sha: string;
  event: string;
  trust: Trust;
  retry_of: number | null;
}

/** All columns but the spec, with the facts of the pipeline. Ends before `where`. */
export const SELECT_RUN = `
  select ${CORE.split(', ')
    .map((column) => `r.${column}`)
    .join(', ')},
    r.pipeline, r.job, r.kind, r.machine, r.session, r.created_at, r.queued_at, r.started_at, r.ended_at,
    r.lease_until, r.reason, r.detail, r.log_length, r.needs, r.labels, r.cpus, r.memory_bytes, r.steps,
    p.ref, p.sha, p.event, p.trust, p.retry_of
  from runs r join pipelines p on p.id = r.pipeline`;

export function runOf(row: RunRow): Run {
  return {
    id: row.id,
    pipeline: row.pipeline,
    repository: row.repository,
    ref: row.ref,
    sha: row.sha,
    event: row.event,
    trust: row.trust,
    retryOf: row.retry_of,
    key: row.key,
    job: row.job,
    kind: row.kind,
    state: stateOf(row.state),
    authorised: row.authorised === 1,
    attempt: row.attempt,
    lostCount: row.lost_count,
    needs: JSON.parse(row.needs) as string[],
    labels: JSON.parse(row.labels) as string[],
    cpus: row.cpus,
    memoryBytes: row.memory_bytes,
    serial: row.serial,
    account: row.account,
    machine: row.machine,
    session: row.session,
    createdAt: row.created_at,
    queuedAt: row.queued_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    leaseUntil: row.lease_until,
    cancelWhy: row.cancel_why,
    reason: row.reason,
    detail: row.detail,
    steps: JSON.parse(row.steps) as StepOutcome[],
    logLength: row.log_length,
  };
}
