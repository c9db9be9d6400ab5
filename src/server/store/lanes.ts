import { type Capacity, fits } from '../../shared/capacity.ts';
import { matchesRepository } from '../../shared/globs.ts';
import type { Sql } from './sql.ts';
import type { Claim, NewRun } from './store.ts';

/** What a session must offer to take a run of it. */
interface RunClass {
  readonly id: number;
  readonly labels: readonly string[];
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly kind: NewRun['kind'];
}

interface ClassRow {
  id: number;
  labels: string;
  cpus: number;
  memory_bytes: number;
  kind: NewRun['kind'];
}

interface LaneHead {
  repository: string;
  running: number;
  head: number;
}

/**
 * The counters by which a claim finds its run without looking at the backlog (see `migrations.ts`). Every
 * method runs inside a write of the store.
 */
export class Lanes {
  readonly #sql: Sql;
  /** As far as they were asked for; forgotten at each insert, since one that is undone leaves its id to another. */
  readonly #classes = new Map<number, RunClass>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  laneFor(repository: string, run: Pick<NewRun, 'labels' | 'cpus' | 'memoryBytes' | 'kind'>): number {
    const runClass = this.#classFor(run);
    const found = this.#sql.get<{ id: number }>(
      'select id from lanes where repository = ? and class = ?',
      repository,
      runClass,
    );
    if (found) return found.id;
    const running = this.#runningOf(repository);
    const made = this.#sql.run(
      'insert into lanes (class, repository, running, open) values (?, ?, ?, ?)',
      runClass,
      repository,
      running,
      running < this.#capOf(repository) ? 1 : 0,
    );
    return made.id;
  }

  /** After runs of the repository began (positive) or ceased to run. */
  countRunning(repository: string, by: number): void {
    this.#sql.run(
      'update lanes set running = running + ?, open = running + ? < ? where repository = ?',
      by,
      by,
      this.#capOf(repository),
      repository,
    );
  }

  /** After the cap of the repository changed. */
  reopen(repository: string): void {
    this.#sql.run(
      'update lanes set open = running < ? where repository = ?',
      this.#capOf(repository),
      repository,
    );
  }

  /** After a run of the lane became ready or ceased to be. */
  refreshHead(lane: number): void {
    this.#sql.run(
      'update lanes set head = (select min(r.id) from runs r where r.lane = lanes.id and r.ready = 1) where id = ?',
      lane,
    );
  }

  /**
   * The run that the claim takes, where this much is free for it: of the least busy repository, then the earliest
   * received. `before`: only of those that came before this one.
   */
  best(claim: Claim, free: Capacity, before: number | null): number | null {
    const commands = this.#commandsRunning() < claim.maxCommands;
    let best: LaneHead | null = null;
    for (const runClass of this.#openClasses()) {
      if (!suits(runClass, claim.labels, free) || (runClass.kind === 'command' && !commands)) continue;
      const lane = this.#bestOf(runClass.id, claim, free, before ?? Number.MAX_SAFE_INTEGER);
      if (lane && (best === null || isBefore(lane, best))) best = lane;
    }
    return best?.head ?? null;
  }

  /**
   * Of a run whether it fits into what is free; null where this claim's process could not take it though all of
   * it were free, or where something else holds it back.
   */
  fitsKept(run: number, claim: Claim, free: Capacity): boolean | null {
    const lane = this.#sql.get<{ class: number; repository: string }>(
      `select l.class, l.repository from runs r join lanes l on l.id = r.lane
       where r.id = ? and r.ready = 1 and l.open = 1`,
      run,
    );
    if (!lane) return null;
    const runClass = this.#class(lane.class);
    if (!this.#mayTake(runClass, claim)) return null;
    return matchesRepository(claim.repos, lane.repository) ? fits(runClass, free) : null;
  }

  /** The runs that wait too long, since they were queued and what they need has passed, for more than is free and that this claim's process could take, the earliest first. */
  starved(claim: Claim, free: Capacity): number[] {
    const { queuedBefore } = claim.room;
    const found: number[] = [];
    for (const runClass of this.#openClasses()) {
      if (fits(runClass, free) || !this.#mayTake(runClass, claim)) continue;
      const heads = this.#sql.iterate<{ id: number; repository: string }>(
        `select r.id, r.repository from lanes l join runs r on r.id = l.head
         where l.class = ? and l.open = 1 and l.head is not null and r.queued_at < ? and not exists (
           select 1 from needs n join runs needed on needed.id = n.needed
           where n.run = r.id and needed.ended_at >= ?)`,
        runClass.id,
        queuedBefore,
        queuedBefore,
      );
      for (const { id, repository } of heads) if (matchesRepository(claim.repos, repository)) found.push(id);
    }
    return found.toSorted((a, b) => a - b);
  }

  #mayTake(runClass: RunClass, claim: Claim): boolean {
    if (!suits(runClass, claim.labels, claim.room.total)) return false;
    return runClass.kind !== 'command' || this.#commandsRunning() < claim.maxCommands;
  }

  #bestOf(runClass: number, claim: Claim, free: Capacity, before: number): LaneHead | null {
    const heads = this.#sql.iterate<LaneHead>(
      `select repository, running, head from lanes
       where class = ? and open = 1 and head is not null order by running, head`,
      runClass,
    );
    for (const lane of heads) {
      if (lane.head >= before || !matchesRepository(claim.repos, lane.repository)) continue;
      if (!this.#isLastPlaceAwaited(lane, claim, free)) return lane;
    }
    return null;
  }

  /**
   * Whether it is the last that its repository may have at once, and a run that came before it, and that this
   * claim cannot take, has waited too long while a slot waits that could.
   */
  #isLastPlaceAwaited({ repository, running, head }: LaneHead, claim: Claim, free: Capacity): boolean {
    if (running + 1 < this.#capOf(repository)) return false;
    const earlier = this.#sql.all<{ class: number }>(
      `select l.class from lanes l join runs r on r.id = l.head
       where l.repository = ? and l.head < ? and r.queued_at < ?`,
      repository,
      head,
      claim.room.queuedBefore,
    );
    return earlier.some(({ class: id }) => {
      const runClass = this.#class(id);
      if (suits(runClass, claim.labels, free)) return false;
      return claim.room.isAwaited({ ...runClass, repository });
    });
  }

  #classFor(run: Pick<NewRun, 'labels' | 'cpus' | 'memoryBytes' | 'kind'>): number {
    const labels = JSON.stringify([...new Set(run.labels)].sort());
    const found = this.#sql.get<{ id: number }>(
      'select id from classes where labels = ? and cpus = ? and memory_bytes = ? and kind = ?',
      labels,
      run.cpus,
      run.memoryBytes,
      run.kind,
    );
    if (found) return found.id;
    this.#classes.clear();
    return this.#sql.run(
      'insert into classes (labels, cpus, memory_bytes, kind) values (?, ?, ?, ?)',
      labels,
      run.cpus,
      run.memoryBytes,
      run.kind,
    ).id;
  }

  /** Those of which a run can be claimed, each by one step in the index, however many there have ever been. */
  *#openClasses(): Iterable<RunClass> {
    const sql = `select class from lanes where open = 1 and head is not null and class > ?
      order by class limit 1`;
    for (let last = 0; ; ) {
      const row = this.#sql.get<{ class: number }>(sql, last);
      if (!row) return;
      last = row.class;
      yield this.#class(last);
    }
  }

  #class(id: number): RunClass {
    const known = this.#classes.get(id);
    if (known) return known;
    const row = this.#sql.get<ClassRow>('select * from classes where id = ?', id);
    if (!row) throw new Error(`class ${id} is gone`);
    const { labels, cpus, memory_bytes: memoryBytes, kind } = row;
    const read = { id, labels: JSON.parse(labels) as string[], cpus, memoryBytes, kind };
    this.#classes.set(id, read);
    return read;
  }

  #runningOf(repository: string): number {
    const sql = 'select count(*) as n from runs where repository = ? and state = 2';
    return this.#sql.get<{ n: number }>(sql, repository)?.n ?? 0;
  }

  #commandsRunning(): number {
    const sql = "select count(*) as n from runs where state = 2 and kind = 'command'";
    return this.#sql.get<{ n: number }>(sql)?.n ?? 0;
  }

  /** One that is not registered has none. */
  #capOf(repository: string): number {
    const sql = 'select max_jobs from repositories where name = ?';
    const row = this.#sql.get<{ max_jobs: number | null }>(sql, repository);
    return row?.max_jobs ?? Number.MAX_SAFE_INTEGER;
  }
}

function suits(runClass: RunClass, labels: readonly string[], free: Capacity): boolean {
  return fits(runClass, free) && runClass.labels.every((label) => labels.includes(label));
}

function isBefore(a: LaneHead, b: LaneHead): boolean {
  return a.running < b.running || (a.running === b.running && a.head < b.head);
}
