import { type AgentResult, agentResultSchema, publishedSchema } from '../../shared/agent/result.ts';
import type { AgentCommand, AgentSessionRef } from '../../shared/agent/spec.ts';
import type { RunOutcome } from '../../shared/outcome.ts';
import type { Settled } from '../../shared/worker-messages.ts';
import type { AgentStore, KeptChange } from './agent-store.ts';
import type { Sql } from './sql.ts';
import type { Writer } from './writer.ts';

export class SqliteAgents implements AgentStore {
  readonly #sql: Sql;
  readonly #writer: Writer;

  constructor(sql: Sql, writer: Writer) {
    this.#sql = sql;
    this.#writer = writer;
  }

  async resultOf(run: number): Promise<AgentResult | null> {
    const row = this.#sql.get<{ result: string }>('select result from agent_results where run = ?', run);
    return row ? agentResultSchema.parse(JSON.parse(row.result)) : null;
  }

  async planOf(repository: string, issue: number): Promise<string | null> {
    const row = this.#sql.get<{ plan: string }>(
      'select plan from agent_plans where repository = ? and issue = ? order by run desc limit 1',
      repository,
      issue,
    );
    return row?.plan ?? null;
  }

  async sessionOf(repository: string, issue: number, command: AgentCommand): Promise<AgentSessionRef | null> {
    const row = this.#sql.get<AgentSessionRef>(
      'select engine, id, home from agent_sessions where repository = ? and issue = ? and command = ?',
      repository,
      issue,
      command,
    );
    return row ?? null;
  }

  async changeOf(run: number, attempt: number): Promise<KeptChange | null> {
    const row = this.#sql.get<{ sha: string; rebased: number; published: string | null }>(
      'select sha, rebased, published from agent_changes where run = ? and attempt = ?',
      run,
      attempt,
    );
    if (!row) return null;
    const published =
      row.published === null ? null : (publishedSchema.parse(JSON.parse(row.published)) as Settled);
    return { sha: row.sha, rebased: row.rebased === 1, published };
  }

  keepChange(run: number, attempt: number, change: KeptChange): Promise<void> {
    return this.#writer.write(() => {
      this.#sql.run(
        'insert or replace into agent_changes (run, attempt, sha, rebased, published) values (?, ?, ?, ?, ?)',
        run,
        attempt,
        change.sha,
        change.rebased ? 1 : 0,
        change.published === null ? null : JSON.stringify(change.published),
      );
    });
  }
}

/**
 * Runs inside the write that ends the run. A session stays as it is until a run of its target and command
 * has made another; `fix` begins anew each time and leaves none.
 */
export function keepAgentResult(sql: Sql, run: number, { agent }: RunOutcome): void {
  if (!agent) return;
  sql.run('insert or replace into agent_results (run, result) values (?, ?)', run, JSON.stringify(agent));
  const target = sql.get<{ repository: string; issue: number; name: string }>(
    `select c.repository, c.issue, c.name from commands c
     join repositories r on r.name = c.repository where c.run = ?`,
    run,
  );
  if (!target) return;
  const { repository, issue, name } = target;
  const { session, plan } = agent;
  if (session && name !== 'fix')
    sql.run(
      `insert or replace into agent_sessions (repository, issue, command, engine, id, home, run)
       values (?, ?, ?, ?, ?, ?, ?)`,
      repository,
      issue,
      name,
      session.engine,
      session.id,
      session.home,
      run,
    );
  if (plan?.accepted)
    sql.run(
      'insert or replace into agent_plans (repository, issue, run, plan) values (?, ?, ?, ?)',
      repository,
      issue,
      run,
      plan.text,
    );
}
