import { createHash } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PASSED } from '../../../support/fake-network.ts';
import { first, type ReporterRig, reporterRig } from '../../../support/reporter-rig.ts';
import { until } from '../../../support/until.ts';

let { server, link, spool, told, reporter, cleanup } = {} as ReporterRig;
beforeEach(() => {
  ({ server, link, spool, told, reporter, cleanup } = reporterRig());
});
afterEach(() => cleanup.run());

const TEXT = 'abcdefghijklmnopqrstuvwxyz';

describe('the record', () => {
  it('is repeated after a lost reply', async () => {
    server.onRecord = first(2, () => server.hangUp());
    expect((await reporter().finish(PASSED, 0)).reported).toBe('recorded');
    expect(server.records).toHaveLength(1);
    expect(server.connects).toBe(3);
  });

  it('is stale where it arrived and counted before its reply was lost to another attempt', async () => {
    server.onRecord = () => ({ type: 'stale', why: 'ended' });
    expect((await reporter().finish(PASSED, 0)).reported).toBe('stale');
  });

  it('is recorded where it arrived and its reply was lost twice, whatever a heartbeat would say meanwhile', async () => {
    server.onHeartbeat = () =>
      server.records.length > 0 ? { type: 'stale', why: 'the run is passed' } : null;
    const report = reporter();
    let tries = 0;
    server.onRecord = async () => {
      if (++tries === 1) server.takeRecord(PASSED, 0, null);
      await report.beat();
      return tries < 3 ? server.hangUp() : { type: 'ok' };
    };
    expect((await report.finish(PASSED, 0)).reported).toBe('recorded');
    expect([tries, told]).toEqual([3, []]);
  });

  it('lets the run live while the log is sent that the server lacks', async () => {
    appendFileSync(spool, TEXT);
    let beats = 0;
    server.onHeartbeat = () => {
      beats++;
      return null;
    };
    const report = reporter();
    server.onRecord = first(1, () => {
      server.log = server.log.subarray(0, 5);
      server.onLog = () => {
        void report.beat();
        return null;
      };
      return { type: 'ok' as const, offset: 5 };
    });
    expect((await report.finish(PASSED, 26)).reported).toBe('recorded');
    expect(beats).toBeGreaterThan(0);
  });

  it('is given up when the link is closed while the server is away', async () => {
    const report = reporter();
    server.onRecord = () => {
      void link.close();
      return server.hangUp();
    };
    expect((await report.finish(PASSED, 0)).reported).toBe('abandoned');
  });
});

describe('an outcome that cannot be recorded', () => {
  const away = (): void => void link.close();
  const artifact = (name: string, bytes = 5) => ({ name, path: spool, bytes, sha256: '' });

  it('is told when the link is closed', async () => {
    appendFileSync(spool, TEXT);
    away();
    expect((await reporter().finish(PASSED, 26)).reported).toBe('abandoned');
    expect(told).toEqual(['unrecorded: passed, 26']);
  });

  it('is told while the server is silent, so that it outlives this process', async () => {
    server.onRecord = async () => {
      await until('it is told', () => told.length > 0);
      return { type: 'ok' };
    };
    const stopped = (ended: typeof PASSED) => ({ ...ended, result: 'cancelled' as const });
    expect((await reporter().finish(PASSED, 0, stopped)).reported).toBe('recorded');
    expect(told).toEqual(['unrecorded: cancelled, 0']);
  });

  it('is not told where it is recorded at once, or belongs to another attempt', async () => {
    expect((await reporter().finish(PASSED, 0)).reported).toBe('recorded');
    server.onRecord = () => ({ type: 'stale', why: 'attempt 2 runs' });
    expect((await reporter().finish(PASSED, 0)).reported).toBe('stale');
    expect(told).toEqual([]);
  });

  it('is told though the log is not sent, where all artifacts are', async () => {
    const report = reporter();
    const file = path.join(path.dirname(spool), 'dist');
    writeFileSync(file, 'bytes');
    const sha256 = createHash('sha256').update('bytes').digest('hex');
    report.artifact({ name: 'dist', path: file, bytes: 5, sha256 });
    await until('it is sent', () => server.artifacts.get('dist')?.complete);
    appendFileSync(spool, TEXT);
    server.onLog = () => server.hangUp();
    const finished = report.finish(PASSED, 26);
    await until('it is told', () => told.length > 0);
    away();
    expect((await finished).reported).toBe('abandoned');
    expect(told).toEqual(['unrecorded: passed, 26']);
  });

  it('is not told where an artifact of it was not sent: the run is made again', async () => {
    const report = reporter();
    report.artifact(artifact('dist'));
    away();
    expect((await report.finish(PASSED, 0)).reported).toBe('abandoned');
    expect(told).toEqual([]);
  });
});
