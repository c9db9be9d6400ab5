/**
 * The beginning of a log: all of it, mostly. `at` is where the bytes belong; the parts of one log follow on
 * each other without a gap, from 0.
 */
export const LOGS = `
create table log_parts (
  run integer not null,
  attempt integer not null,
  at integer not null,
  bytes blob not null,
  primary key (run, attempt, at)
) strict, without rowid;
`;
