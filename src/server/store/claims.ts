import { type Capacity, NO_CAPACITY, plus } from '../../shared/capacity.ts';
import { siblingsOf } from '../queue/session-id.ts';
import type { Lanes } from './lanes.ts';
import type { Settle } from './settle.ts';
import type { Sql } from './sql.ts';
import type { Claim, ClaimedRun } from './store.ts';
import type { Effects } from './writer.ts';

interface Parts {
  readonly sql: Sql;
  readonly lanes: Lanes;
  readonly settle: Settle;
}

/** Runs inside a write of the store. */
export function claimRun(parts: Parts, claim: Claim, now: number, effects: Effects): ClaimedRun | null {
  const leaseUntil = now + claim.leaseMs;
  const standing = parts.sql.get<{ id: number }>(
    'select id from runs where account = ? and lease_key = ? and state = 2',
    claim.account,
    claim.key,
  );
  if (standing) {
    parts.sql.run(
      'update runs set session = ?, machine = ?, lease_until = ? where id = ?',
      claim.session,
      claim.machine,
      leaseUntil,
      standing.id,
    );
    effects.changed.add(standing.id);
    return claimed(parts.sql, standing.id);
  }
  const best = choose(parts.lanes, claim, heldBeside(parts.sql, claim.session));
  const row = best === null ? undefined : parts.settle.find(best);
  if (!row) return null;
  parts.settle.lease(row, { ...claim, leaseUntil }, effects);
  return claimed(parts.sql, row.id);
}

/** While room is kept for a run, none is taken that came after it. */
function choose(lanes: Lanes, claim: Claim, held: Capacity): number | null {
  const { room } = claim;
  const free = claim.free(held);
  const kept = room.kept();
  const hasRoom = kept === null ? null : lanes.fitsKept(kept, claim, free);
  if (hasRoom === true) return kept;
  // Where no job of the process runs, nothing more will become free: it asks for a standing lease alone.
  const starved = held.cpus > 0 ? lanes.starved(claim, free) : [];
  const awaited = hasRoom === false ? kept : room.keep(starved);
  return lanes.best(claim, free, awaited);
}

/** By the jobs of the process that the session is of. */
function heldBeside(sql: Sql, session: string): Capacity {
  const { from, to } = siblingsOf(session);
  const rows = sql.all<{ cpus: number; memoryBytes: number }>(
    `select cpus, memory_bytes as memoryBytes from runs indexed by runs_sessions
     where state = 2 and session > ? and session < ?`,
    from,
    to,
  );
  return rows.reduce<Capacity>(plus, NO_CAPACITY);
}

function claimed(sql: Sql, run: number): ClaimedRun {
  const row = sql.get<Omit<ClaimedRun, 'spec'> & { pipeline: number; spec: string }>(
    `select r.id as run, r.attempt, r.pipeline, r.repository, r.job, r.started_at as startedAt, r.cpus,
       r.memory_bytes as memoryBytes, r.spec, p.trust
     from runs r join pipelines p on p.id = r.pipeline where r.id = ?`,
    run,
  );
  if (!row) throw new Error(`run ${run} is gone`);
  const { spec: text, pipeline, ...facts } = row;
  const stored = parsedSpec(text);
  const spec =
    typeof stored === 'object' && stored !== null && !Array.isArray(stored)
      ? { ...stored, run, attempt: row.attempt, pipeline }
      : stored;
  return { ...facts, spec };
}

/** One that is no JSON is passed on as its text: the runner says what is wrong with it. */
export function parsedSpec(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
