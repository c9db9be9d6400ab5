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
  const best = parts.lanes.best(claim);
  const row = best === null ? undefined : parts.settle.find(best);
  if (!row) return null;
  parts.settle.lease(row, { ...claim, leaseUntil }, effects);
  return claimed(parts.sql, row.id);
}

function claimed(sql: Sql, run: number): ClaimedRun {
  const row = sql.get<Omit<ClaimedRun, 'spec'> & { pipeline: number; spec: string }>(
    `select r.id as run, r.attempt, r.pipeline, r.repository, r.job, r.started_at as startedAt, r.spec, p.trust
     from runs r join pipelines p on p.id = r.pipeline where r.id = ?`,
    run,
  );
  if (!row) throw new Error(`run ${run} is gone`);
  const { attempt, pipeline, repository, trust, job, startedAt } = row;
  const stored = parsedSpec(row.spec);
  const spec =
    typeof stored === 'object' && stored !== null && !Array.isArray(stored)
      ? { ...stored, run, attempt, pipeline }
      : stored;
  return { run, attempt, repository, trust, job, startedAt, spec };
}

/** One that is no JSON is passed on as its text: the runner says what is wrong with it. */
export function parsedSpec(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
