import { counted } from '../../shared/counted.ts';
import { isFinal } from '../../shared/outcome.ts';
import { stateOf } from './rows.ts';
import type { Sql } from './sql.ts';
import type { WaitReason } from './store.ts';

interface WaitRow {
  id: number;
  state: number;
  ready: number;
  unmet: number;
  serial: string | null;
  kind: string;
  authorised: number;
  repository: string;
  running: number;
  open: number;
}

/**
 * Why the run waits, as far as the store knows; which sessions there are is no fact of it (see
 * `queue/explain-wait.ts`). Null where there is no such run; a run that waits no more has no reasons.
 */
export function waitOf(sql: Sql, run: number, maxCommands: number | null): WaitReason | null {
  const row = sql.get<WaitRow>(
    `select r.id, r.state, r.ready, r.unmet, r.serial, r.kind, r.authorised, r.repository, l.running, l.open
     from runs r join lanes l on l.id = r.lane where r.id = ?`,
    run,
  );
  if (!row) return null;
  const state = stateOf(row.state);
  if (isFinal(state) || state === 'running') return { run, state, reasons: [], place: null };
  const reasons = [
    ...(state === 'received' ? [{ code: 'received' as const, text: receivedText(sql, row) }] : []),
    ...(row.unmet > 0 ? [{ code: 'needs' as const, text: needsText(sql, run) }] : []),
    ...serialReason(sql, row),
    ...(row.open === 0 ? [{ code: 'cap' as const, text: capText(sql, row) }] : []),
    ...(row.kind === 'command' ? commandsReason(sql, maxCommands) : []),
  ];
  if (reasons.length > 0) return { run, state, reasons, place: null };
  const place = placeOf(sql, row);
  const before = `${counted(place - 1, 'run')} ${place === 2 ? 'is' : 'are'} leased before it`;
  const text = place === 1 ? 'it is the next to be leased' : before;
  return { run, state, reasons: [{ code: 'next', text }], place };
}

function receivedText(sql: Sql, row: WaitRow): string {
  if (row.authorised === 1) return 'it is allowed, and what it executes is read from the repository';
  const asked = sql.get<{ attempts: number; error: string }>(
    "select attempts, error from tasks where kind = 'authorise' and repository = ? and subject = ?",
    row.repository,
    String(row.id),
  );
  if (!asked || asked.error === '') return 'it waits to be authorised';
  const tries = asked.attempts === 0 ? '' : ` (${counted(asked.attempts, 'try', 'tries')})`;
  return `it waits to be authorised, and the forge does not say whether its author may${tries}: ${asked.error}`;
}

function needsText(sql: Sql, run: number): string {
  const needed = sql.all<{ id: number; key: string; state: number }>(
    `select id, key, state from runs
     where id in (select needed from needs where run = ?) and state < 3 order by id`,
    run,
  );
  return `it needs ${needed.map(({ id, key, state }) => `${key} (run ${id}, ${stateOf(state)})`).join(', ')}`;
}

function serialReason(sql: Sql, row: WaitRow): WaitReason['reasons'] {
  if (row.serial === null) return [];
  const first = sql.get<{ id: number; state: number }>(
    'select id, state from runs where serial = ? and state < 3 and id < ? order by id limit 1',
    row.serial,
    row.id,
  );
  if (!first) return [];
  const text = `run ${first.id} of the serial key ${row.serial} comes first and is ${stateOf(first.state)}`;
  return [{ code: 'serial', text }];
}

function capText(sql: Sql, row: WaitRow): string {
  const cap = sql.get<{ max_jobs: number }>(
    'select max_jobs from repositories where name = ?',
    row.repository,
  );
  return `${row.repository} has ${row.running} running and may have ${cap?.max_jobs ?? row.running} at once`;
}

function commandsReason(sql: Sql, maxCommands: number | null): WaitReason['reasons'] {
  const { n } = sql.get<{ n: number }>(
    "select count(*) as n from runs where state = 2 and kind = 'command'",
  ) ?? { n: 0 };
  if (maxCommands === null || n < maxCommands) return [];
  return [
    {
      code: 'commands',
      text: `${counted(n, 'command')} ${n === 1 ? 'runs' : 'run'}, and ${maxCommands} may at once`,
    },
  ];
}

/** Counted among all that could be leased now, in the order in which they would be. */
function placeOf(sql: Sql, row: WaitRow): number {
  const before = sql.get<{ n: number }>(
    `select count(*) as n from lanes l join runs r on r.lane = l.id and r.ready = 1
     where l.open = 1 and (l.running, r.id) < (?, ?)`,
    row.running,
    row.id,
  );
  return (before?.n ?? 0) + 1;
}
