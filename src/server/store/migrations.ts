import { AGENTS } from './agents-sql.ts';
import { CONTROL } from './control-sql.ts';
import { LOGS } from './logs-sql.ts';
import { EVENTS } from './migrations-events.ts';

/** One step of the schema. Numbered from 1 without gaps; what was once released is never edited. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/**
 * `runs.state` is the index in `RUN_STATES`: 0 received, 1 queued, 2 running, from 3 on final.
 *
 * A class is what a session must offer to take a run; a lane is a class of one repository. Of each lane
 * the transitions keep true: `running` (of the whole repository), `open` (that is below its cap) and
 * `head` (the least run that is ready), so a claim probes one index entry a class, however long the
 * backlog is. `ready` is: queued, all needs passed, no earlier unfinished run of its serial key.
 */
const INITIAL = `
create table account_keys (
  public_key text primary key,
  account text not null,
  fingerprint text not null,
  added_at integer not null
) strict, without rowid;
create index account_keys_by_account on account_keys (account);

create table repositories (
  name text primary key,
  clone_url text not null,
  max_jobs integer,
  added_at integer not null
) strict, without rowid;

create table secrets (
  repository text not null references repositories (name) on delete cascade,
  name text not null,
  sealed blob not null,
  updated_at integer not null,
  primary key (repository, name)
) strict, without rowid;

create table pipelines (
  id integer primary key autoincrement,
  repository text not null,
  event text not null,
  ref text not null,
  sha text not null,
  trust text not null,
  title text not null,
  fault text,
  created_at integer not null
) strict;

create table classes (
  id integer primary key,
  labels text not null,
  cpus real not null,
  memory_bytes integer not null,
  kind text not null,
  unique (labels, cpus, memory_bytes, kind)
) strict;

create table lanes (
  id integer primary key,
  class integer not null references classes (id),
  repository text not null,
  running integer not null,
  open integer not null,
  head integer,
  unique (repository, class)
) strict;
create index lanes_to_claim on lanes (class, running, head) where open = 1 and head is not null;

create table runs (
  id integer primary key autoincrement,
  pipeline integer not null references pipelines (id),
  lane integer not null references lanes (id),
  repository text not null,
  key text not null,
  job text not null,
  kind text not null,
  state integer not null,
  ready integer not null default 0,
  unmet integer not null default 0,
  attempt integer not null default 0,
  lost_count integer not null default 0,
  retry_lost integer not null,
  accepted integer not null default 0,
  serial text,
  account text,
  machine text,
  session text,
  lease_key text,
  created_at integer not null,
  queued_at integer,
  started_at integer,
  ended_at integer,
  lease_until integer,
  cancel_why text,
  reason text,
  detail text not null default '',
  log_length integer not null default 0,
  needs text not null,
  labels text not null,
  cpus real not null,
  memory_bytes integer not null,
  steps text not null default '[]',
  spec text not null
) strict;
create index runs_ready on runs (lane, id) where ready = 1;
create index runs_serial on runs (serial, id) where serial is not null and state < 3;
create index runs_leases on runs (lease_until) where state = 2;
create index runs_sessions on runs (session) where state = 2;
create index runs_lease_keys on runs (account, lease_key) where state = 2;
create index runs_commands on runs (id) where state = 2 and kind = 'command';
create index runs_unfinished on runs (repository) where state < 3;
create index runs_pipeline on runs (pipeline);
create index runs_state on runs (state);
create index runs_repository on runs (repository);

create table needs (
  needed integer not null references runs (id),
  run integer not null references runs (id),
  primary key (needed, run)
) strict, without rowid;
create index needs_of on needs (run);
`;

/** Of a run, id of the matrix job whose other runs in the pipeline are cancelled when it fails. */
const FAIL_FAST = 'alter table runs add column fail_fast text;';

/**
 * `pipelines.retry_of` is the pipeline that it executes again, `runs.origin` of a run that executes another
 * again the first of these, so that all retries of one run are found by it.
 */
const RETRIES = `
alter table pipelines add column retry_of integer references pipelines (id);
alter table runs add column origin integer references runs (id);
create index runs_retrying on runs (origin) where origin is not null and state < 3;
`;

/** For lists of pipelines: how many of their runs are in which state is read from the index alone. */
const PIPELINE_LISTS = `
drop index runs_pipeline;
create index runs_pipeline on runs (pipeline, state);
create index pipelines_of_repository on pipelines (repository, id);
create index pipelines_faulty on pipelines (id) where fault is not null;
`;

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: INITIAL },
  { version: 2, name: 'events', sql: EVENTS },
  { version: 3, name: 'forges, commands, control tasks', sql: CONTROL },
  { version: 4, name: 'agents', sql: AGENTS },
  { version: 5, name: 'logs', sql: LOGS },
  { version: 6, name: 'fail-fast', sql: FAIL_FAST },
  { version: 7, name: 'retries', sql: RETRIES },
  { version: 8, name: 'pipeline lists', sql: PIPELINE_LISTS },
];
