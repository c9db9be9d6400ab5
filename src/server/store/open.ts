import { type Clock, systemClock } from '../../shared/platform/clock.ts';
import { SqliteAccounts } from './accounts.ts';
import { SqliteAgents } from './agents.ts';
import { requestCausedTasks } from './caused-tasks.ts';
import { SqliteCommands } from './commands.ts';
import { SqliteEvents } from './events.ts';
import { SqliteForges } from './forges.ts';
import { Lanes } from './lanes.ts';
import { SqliteRepositories } from './repositories.ts';
import { SqliteRuns } from './runs.ts';
import { SqliteSecrets } from './secrets.ts';
import { SqliteSmallLogs } from './small-logs.ts';
import { openSql, storeError } from './sql.ts';
import type { RunEvents, Store } from './store.ts';
import { SyncedLog } from './synced-log.ts';
import { SqliteTasks } from './tasks.ts';
import { Writer } from './writer.ts';

/**
 * The embedded store: one SQLite file, held by one process (the caller holds the guard). `events` hears of
 * each change after its commit. Throws `VoleError`: `io-error` where the file is no database of ours or of
 * a newer version, `disk-full`. A write rejects with the same.
 */
export async function openSqliteStore(
  databaseFile: string,
  events?: RunEvents,
  clock: Clock = systemClock,
): Promise<Store> {
  const sql = openSql(databaseFile);
  const writer = new Writer(sql, new SyncedLog(databaseFile), events, (effects) =>
    requestCausedTasks(sql, effects, clock.now()),
  );
  const lanes = new Lanes(sql);
  return {
    accounts: new SqliteAccounts(sql, writer, clock),
    repositories: new SqliteRepositories(sql, writer, lanes, clock),
    secrets: new SqliteSecrets(sql, writer, clock),
    runs: new SqliteRuns(sql, writer, lanes, clock),
    events: new SqliteEvents(sql, writer, lanes, clock),
    tasks: new SqliteTasks(sql, writer, clock),
    forges: new SqliteForges(sql, writer, clock),
    commands: new SqliteCommands(sql),
    agents: new SqliteAgents(sql, writer),
    smallLogs: new SqliteSmallLogs(sql, writer),
    close: async () => {
      try {
        writer.close();
        sql.db.close();
      } catch (error) {
        throw storeError(error, databaseFile);
      }
    },
  };
}
