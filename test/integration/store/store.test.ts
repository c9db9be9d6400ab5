import { readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/server/store/open.ts';
import { openSql, type Sql } from '../../../src/server/store/sql.ts';
import type { RunEvents } from '../../../src/server/store/store.ts';
import { type Sync, SyncedLog } from '../../../src/server/store/synced-log.ts';
import { Writer } from '../../../src/server/store/writer.ts';
import { newRun, StoreRig } from '../../support/store-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

let cleanup: Cleanup;
let rig: StoreRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
});

afterEach(async () => cleanup.run());

describe('accounts', () => {
  it('own keys, each key one account', async () => {
    const { accounts } = rig.store;
    await expect(accounts.addKey('a', 'ssh-ed25519 AAA', 'SHA256:1')).resolves.toBe('added');
    await expect(accounts.addKey('a', 'ssh-ed25519 AAA', 'SHA256:1')).resolves.toBe('exists');
    await expect(accounts.addKey('b', 'ssh-ed25519 AAA', 'SHA256:1')).resolves.toBe('conflict');
    await accounts.addKey('a', 'ssh-ed25519 BBB', 'SHA256:2');
    await accounts.addKey('b', 'ssh-ed25519 CCC', 'SHA256:3');
    await expect(accounts.accountOf('ssh-ed25519 BBB')).resolves.toBe('a');
    await expect(accounts.removeKeys('b', 'SHA256:1')).resolves.toBe(0);
    await expect(accounts.removeKeys('a', 'SHA256:1')).resolves.toBe(1);
    await expect(accounts.accountOf('ssh-ed25519 AAA')).resolves.toBeNull();
    await expect(accounts.removeKeys('a', null)).resolves.toBe(1);
    await expect(accounts.keys()).resolves.toEqual([
      {
        account: 'b',
        publicKey: 'ssh-ed25519 CCC',
        fingerprint: 'SHA256:3',
        addedAt: rig.clock.now(),
      },
    ]);
  });
});

describe('repositories', () => {
  it('are added once, changed and removed', async () => {
    const { repositories } = rig.store;
    const app = { name: 'team/app', cloneUrl: '/app', maxJobs: 2 };
    await expect(repositories.add(app)).resolves.toBe('added');
    await expect(repositories.add(app)).resolves.toBe('exists');
    await expect(repositories.set('team/app', { cloneUrl: '/new' })).resolves.toBe(true);
    await expect(repositories.set('team/app', { maxJobs: null })).resolves.toBe(true);
    await expect(repositories.set('team/none', { maxJobs: null })).resolves.toBe(false);
    await expect(repositories.list()).resolves.toEqual([
      { name: 'team/app', cloneUrl: '/new', maxJobs: null, forge: null, addedAt: rig.clock.now() },
    ]);
    await expect(repositories.remove('team/app')).resolves.toBe('removed');
    await expect(repositories.remove('team/app')).resolves.toBe('not-found');
  });

  it('stay while they have unfinished runs, and their secrets go with them', async () => {
    const { repositories, secrets, runs } = rig.store;
    await repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: null });
    await secrets.set('team/app', 'TOKEN', Buffer.from([1, 2]));
    const [run] = await rig.queue('team/app', newRun());
    await expect(repositories.remove('team/app')).resolves.toBe('has-runs');
    await runs.cancel(run as number, 'not wanted');
    await expect(repositories.remove('team/app')).resolves.toBe('removed');
    await expect(secrets.names('team/app')).resolves.toEqual([]);
    await expect(rig.state(run as number)).resolves.toBe('cancelled');
  });
});

describe('secrets', () => {
  it('keep the bytes that they were given', async () => {
    const { secrets } = rig.store;
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: null });
    await secrets.set('team/app', 'B', Buffer.from([0]));
    await secrets.set('team/app', 'A', Buffer.from([1]));
    await secrets.set('team/app', 'B', Buffer.from([0, 255]));
    await expect(secrets.names('team/app')).resolves.toMatchObject([{ name: 'A' }, { name: 'B' }]);
    await expect(secrets.sealedOf('team/app')).resolves.toEqual([
      { name: 'A', sealed: Buffer.from([1]) },
      { name: 'B', sealed: Buffer.from([0, 255]) },
    ]);
    await expect(secrets.remove('team/app', 'A')).resolves.toBe(true);
    await expect(secrets.remove('team/app', 'A')).resolves.toBe(false);
  });
});

describe('the file', () => {
  it('keeps everything over a restart, and close is idempotent', async () => {
    const [run] = await rig.queue('team/app', newRun());
    await rig.reopen();
    await expect(rig.state(run as number)).resolves.toBe('queued');
    await rig.store.close();
    await rig.store.close();
    await expect(rig.claim()).rejects.toMatchObject({ code: 'interrupted' });
    const renewed = rig.store.runs.renew('ci', run as number, 1, 1000);
    await expect(renewed).rejects.toMatchObject({ code: 'interrupted' });
  });

  it('is synced by its log, which stays the same file after a checkpoint', async () => {
    const log = `${rig.file}-wal`;
    const open = () =>
      readdirSync('/proc/self/fd').flatMap((fd) => {
        try {
          const at = readlinkSync(`/proc/self/fd/${fd}`);
          return at.startsWith(log) ? [{ at, inode: statSync(`/proc/self/fd/${fd}`).ino }] : [];
        } catch {
          return []; // the one that the folder was read by
        }
      });
    const whole = () => ({ at: log, inode: statSync(log).ino });
    await rig.queue('team/app', newRun());
    const before = whole();
    expect(open()).toEqual([before, before]); // SQLite's own and ours
    const other = new Database(rig.file);
    expect(other.pragma('wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]);
    other.close();
    await rig.queue('team/app', newRun());
    expect(statSync(log).size).toBeGreaterThan(0);
    expect([...new Set(open().map(({ at, inode }) => `${at} ${inode}`))]).toEqual([`${log} ${before.inode}`]);
    expect(whole()).toEqual(before);
  });

  it('commits what was asked before it was closed', async () => {
    const asked = rig.queue('team/app', newRun());
    await rig.store.close();
    const [run] = await asked;
    await rig.reopen();
    await expect(rig.state(run as number)).resolves.toBe('queued');
  });

  it('of a newer version is refused by name', async () => {
    await rig.store.close();
    const db = new Database(rig.file);
    db.exec("insert into migrations (version, name, applied_at) values (99, 'later', 0)");
    db.close();
    await expect(openSqliteStore(rig.file)).rejects.toMatchObject({
      code: 'io-error',
      message: expect.stringMatching(/vole\.db was written by a newer vole \(schema 99/) as string,
    });
  });

  it('that is no database or cannot be there is refused in one line', async () => {
    const file = path.join(cleanup.tempDir(), 'x.db');
    writeFileSync(file, 'this is not a database, though it is long enough to look at'.repeat(20));
    await expect(openSqliteStore(file)).rejects.toMatchObject({ code: 'io-error' });
    await expect(openSqliteStore(path.join(file, 'no/such'))).rejects.toMatchObject({ code: 'io-error' });
  });

  it('is brought up to date by the migrations that it lacks, all or none', () => {
    const file = path.join(cleanup.tempDir(), 'm.db');
    const first = { version: 1, name: 'a', sql: 'create table a (x)' };
    openSql(file, [first]).db.close();
    const bad = { version: 3, name: 'c', sql: 'create table a (x)' };
    const second = { version: 2, name: 'b', sql: 'create table b (x)' };
    expect(() => openSql(file, [first, second, bad])).toThrow('already exists');
    const sql = openSql(file, [first, second]);
    cleanup.defer(() => void sql.db.close());
    expect(sql.all('select version, name from migrations order by version')).toEqual([
      { version: 1, name: 'a' },
      { version: 2, name: 'b' },
    ]);
    expect(sql.db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(sql.db.pragma('foreign_keys', { simple: true })).toBe(1);
  });
});

describe('writes of one turn', () => {
  function writerOn(events?: RunEvents, logOf = (file: string): Sync => new SyncedLog(file)) {
    const file = path.join(cleanup.tempDir(), 'w.db');
    const sql = openSql(file, [{ version: 1, name: 'a', sql: 'create table t (x unique)' }]);
    cleanup.defer(() => void sql.db.close());
    const writer = new Writer(sql, logOf(file), events);
    cleanup.defer(() => writer.close());
    return { sql, writer };
  }

  /** The real log, whose syncs wait until they are let go. */
  class HeldLog implements Sync {
    readonly #log: SyncedLog;
    readonly held: ((failure?: Error) => void)[] = [];
    closed = false;

    constructor(file: string) {
      this.#log = new SyncedLog(file);
    }
    sync(done: (error: Error | null) => void): void {
      this.held.push((failure) => (failure ? done(failure) : this.#log.sync(done)));
    }
    syncNow(): void {
      this.#log.syncNow();
    }
    close(): void {
      this.closed = true;
      this.#log.close();
    }
  }

  function held(): { sql: Sql; writer: Writer; log: HeldLog; write: (x: string) => Promise<unknown> } {
    const logs: HeldLog[] = [];
    const { sql, writer } = writerOn(undefined, (file) => {
      logs.push(new HeldLog(file));
      return logs[0] as HeldLog;
    });
    const write = (x: string) => writer.write(() => sql.run('insert into t values (?)', x).changes);
    return { sql, writer, log: logs[0] as HeldLog, write };
  }

  it('are answered when they are on disk, and those that come meanwhile share the next sync', async () => {
    const { log, write } = held();
    const answered: string[] = [];
    const one = write('one').then(() => answered.push('one'));
    await until('the first sync', () => log.held.length === 1);
    const two = write('two').then(() => answered.push('two'));
    await immediate();
    const three = write('three').then(() => answered.push('three'));
    await immediate();
    expect(answered).toEqual([]);
    expect(log.held).toHaveLength(1);
    log.held[0]?.();
    await one;
    expect(answered).toEqual(['one']);
    await until('the second sync', () => log.held.length === 2);
    log.held[1]?.();
    await Promise.all([two, three]);
    expect(log.held).toHaveLength(2);
  });

  it('are refused once the disk has failed to sync', async () => {
    const { log, write } = held();
    const one = write('one');
    await until('its sync', () => log.held.length === 1);
    log.held[0]?.(
      Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', syscall: 'fdatasync' }),
    );
    await expect(one).rejects.toMatchObject({ code: 'io-error' });
    await expect(write('two')).rejects.toMatchObject({ code: 'io-error' });
  });

  it('are on disk before a close returns, and the log is closed after the last sync', async () => {
    const { log, write, writer } = held();
    const one = write('one');
    await until('its sync', () => log.held.length === 1);
    const two = write('two');
    writer.close();
    await two;
    expect(log.closed).toBe(false);
    log.held[0]?.();
    await one;
    expect(log.closed).toBe(true);
  });

  it('share a commit, and one that fails undoes itself alone', async () => {
    const told: unknown[] = [];
    const { sql, writer } = writerOn({
      leasable: () => told.push('leasable'),
      keysRemoved: () => told.push('keys removed'),
      tasks: () => told.push('tasks'),
      changed: (run) => told.push(run),
    });
    const results = await Promise.allSettled([
      writer.write((effects) => {
        effects.changed.add(1);
        return sql.run("insert into t values ('one')").changes;
      }),
      writer.write((effects) => {
        effects.changed.add(2);
        effects.leasable = true;
        sql.run("insert into t values ('two')");
        sql.run("insert into t values ('one')");
      }),
      writer.write(() => sql.all('select x from t')),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[2]).toMatchObject({ value: [{ x: 'one' }] });
    expect(told).toEqual([1]);
  });

  it('fail as disk-full where there is no room, and reading and writing go on', async () => {
    const { sql, writer } = writerOn();
    await writer.write(() => sql.run("insert into t values ('small')"));
    const pages = sql.db.pragma('page_count', { simple: true }) as number;
    sql.db.pragma(`max_page_count = ${pages}`);
    const results = await Promise.allSettled([
      writer.write(() => sql.run('insert into t values (?)', 'x'.repeat(100_000))),
      writer.write(() => sql.run("insert into t values ('also small')")),
    ]);
    expect(results[0]).toMatchObject({ status: 'rejected', reason: { code: 'disk-full' } });
    expect(sql.db.inTransaction).toBe(false);
    sql.db.pragma('max_page_count = 100000');
    await writer.write(() => sql.run('insert into t values (?)', 'y'.repeat(100_000)));
    const kept = sql.get<{ n: number }>('select count(*) as n from t')?.n;
    expect(kept).toBe(results[1]?.status === 'fulfilled' ? 3 : 2);
  });
});
