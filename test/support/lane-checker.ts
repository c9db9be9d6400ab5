import Database from 'better-sqlite3';

/**
 * What the lanes of a store should say, computed from its runs alone, beside what they do say. Equal where
 * every transition kept them true.
 */
export function lanesOf(file: string): { kept: unknown[]; computed: unknown[]; ready: unknown[] } {
  const db = new Database(file, { readonly: true });
  try {
    const kept = db.prepare('select id, running, open, head from lanes order by id').all();
    const computed = db
      .prepare(
        `with busy as (select repository, count(*) as n from runs where state = 2 group by repository),
         eligible as (select r.id, r.lane from runs r
           where r.state = 1
             and not exists (select 1 from needs n join runs d on d.id = n.needed where n.run = r.id and d.state <> 3)
             and not exists (select 1 from runs o where o.serial = r.serial and o.id < r.id and o.state < 3))
         select l.id, coalesce(b.n, 0) as running,
           coalesce(b.n, 0) < coalesce(p.max_jobs, 1000000) as open,
           (select min(e.id) from eligible e where e.lane = l.id) as head
         from lanes l left join busy b on b.repository = l.repository
           left join repositories p on p.name = l.repository
         order by l.id`,
      )
      .all();
    const ready = db
      .prepare(
        `select id from runs r where r.ready <> (r.state = 1
           and not exists (select 1 from needs n join runs d on d.id = n.needed where n.run = r.id and d.state <> 3)
           and not exists (select 1 from runs o where o.serial = r.serial and o.id < r.id and o.state < 3))`,
      )
      .all();
    return { kept, computed, ready };
  } finally {
    db.close();
  }
}
