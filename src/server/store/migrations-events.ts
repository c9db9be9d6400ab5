/**
 * Deliveries of forges as events, and what they need of runs.
 *
 * `events.id` is the place in the sequence of what was received. Three things make a delivery a repeat:
 * its id, its body (a forge that sends it again by hand gives a new id), and for a comment its id there.
 * `runs.prepared` is 0 for a command whose spec is not known yet: it is made once it is `authorised`.
 */
export const EVENTS = `
create table events (
  id integer primary key autoincrement,
  repository text not null,
  forge text not null,
  delivery text not null,
  digest blob not null,
  comment integer,
  lane text not null,
  content text not null,
  received_at integer not null,
  pending integer not null default 1,
  result text not null default '',
  pipeline integer,
  unique (repository, delivery),
  unique (repository, digest)
) strict;
create unique index events_comment on events (repository, comment) where comment is not null;
create index events_pending on events (lane, repository, id) where pending = 1;
create index events_pipeline on events (pipeline) where pipeline is not null;
create index events_repository on events (repository, id);

alter table runs add column authorised integer not null default 0;
alter table runs add column prepared integer not null default 1;
alter table runs add column supersede integer not null default 0;
create index runs_to_prepare on runs (repository, id) where state = 0 and authorised = 1;
create index runs_to_supersede on runs (repository) where state = 1 and supersede = 1;
`;
