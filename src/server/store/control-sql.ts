/**
 * Forges, commands and control tasks. `tasks.state` is the index in `TASK_STATES`: 0 waiting, 1 claimed,
 * 2 done, 3 dead. A task is one for its subject, however often it is asked for: `wanted` counts that, so
 * one that was asked for again while it was claimed waits again when it ends. A lane is a kind of one
 * repository, so that what hangs there holds back nothing else.
 */
export const CONTROL = `
create table forges (
  repository text primary key references repositories (name) on delete cascade,
  kind text not null,
  project text not null,
  api_url text not null,
  token_file text not null,
  bot_login text,
  webhook_secret blob not null,
  updated_at integer not null
) strict, without rowid;
create index forges_by_project on forges (kind, project collate nocase);

create table commands (
  run integer primary key references runs (id),
  repository text not null,
  issue integer not null,
  comment integer not null,
  author text not null,
  name text not null
) strict;
create index commands_of_issue on commands (repository, issue, run);

create table tasks (
  id integer primary key autoincrement,
  kind text not null,
  repository text not null references repositories (name) on delete cascade,
  subject text not null,
  lane text not null,
  payload text not null,
  state integer not null default 0,
  wanted integer not null default 1,
  attempts integer not null default 0,
  due_at integer not null,
  unsure integer not null default 0,
  memory text not null default 'null',
  error text not null default '',
  created_at integer not null,
  updated_at integer not null,
  unique (repository, kind, subject)
) strict;
create index tasks_waiting on tasks (lane, due_at, id) where state = 0;
create index tasks_due on tasks (due_at) where state = 0;
create index tasks_claimed on tasks (lane) where state = 1;
create index tasks_dead on tasks (id) where state = 3;

create index pipelines_of_commit on pipelines (repository, sha);
`;
