/**
 * What agent runs leave behind. Sessions and accepted plans are the target's, by the forge's number of the
 * issue or pull request, and go with the repository; results and changes are the run's.
 */
export const AGENTS = `
create table agent_sessions (
  repository text not null references repositories (name) on delete cascade,
  issue integer not null,
  command text not null,
  engine text not null,
  id text not null,
  home text not null,
  run integer not null,
  primary key (repository, issue, command)
) strict, without rowid;

create table agent_plans (
  repository text not null references repositories (name) on delete cascade,
  issue integer not null,
  run integer not null,
  plan text not null,
  primary key (repository, issue, run)
) strict, without rowid;

create table agent_results (
  run integer primary key references runs (id),
  result text not null
) strict;

create table agent_changes (
  run integer not null references runs (id),
  attempt integer not null,
  sha text not null,
  rebased integer not null,
  published text,
  primary key (run, attempt)
) strict, without rowid;
`;
