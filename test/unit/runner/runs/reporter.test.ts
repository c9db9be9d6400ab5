import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NextLease } from '../../../../src/runner/runs/reporter.ts';
import type { LogRest } from '../../../../src/runner/session/session.ts';
import { RECORD_MORE_PROTOCOL_VERSION } from '../../../../src/shared/protocol/messages.ts';
import { PASSED } from '../../../support/fake-network.ts';
import { first, type ReporterRig, reporterRig } from '../../../support/reporter-rig.ts';
import { until } from '../../../support/until.ts';

let { server, link, spool, told, reporter, cleanup } = {} as ReporterRig;
beforeEach(() => {
  ({ server, link, spool, told, reporter, cleanup } = reporterRig());
});
afterEach(() => cleanup.run());

const TEXT = 'abcdefghijklmnopqrstuvwxyz';

describe('the log', () => {
  it('arrives whole in frames as it grows, and the record comes after it', async () => {
    const report = reporter();
    appendFileSync(spool, TEXT.slice(0, 10));
    report.spooled(10);
    appendFileSync(spool, TEXT.slice(10));
    expect(await report.finish(PASSED, 26)).toEqual({ outcome: PASSED, reported: 'recorded' });
    expect(server.log.toString()).toBe(TEXT);
    expect(server.records).toEqual([{ outcome: PASSED, logLength: 26 }]);
  });

  it.each([0, 4, 8, 12, 24])('goes on from what the server has after a break at %i', async (at) => {
    appendFileSync(spool, TEXT);
    let broken = false;
    server.onLog = (offset) => {
      if (offset !== at || broken) return null;
      broken = true;
      return server.hangUp();
    };
    await reporter().finish(PASSED, 26);
    expect(server.log.toString()).toBe(TEXT);
    expect(server.connects).toBe(2);
  });

  it('is not written twice where the frame arrived and only its reply was lost', async () => {
    appendFileSync(spool, TEXT);
    server.onLog = first(1, (offset: number, bytes: Uint8Array) => {
      server.takeLog(offset, bytes);
      return server.hangUp();
    });
    await reporter().finish(PASSED, 26);
    expect(server.log.toString()).toBe(TEXT);
  });

  it('is sent again from where the server says that it ends', async () => {
    appendFileSync(spool, TEXT);
    server.onLog = first(3, () => ({ type: 'ok' as const, offset: 0 }));
    await reporter().finish(PASSED, 26);
    expect(server.log.toString()).toBe(TEXT);
  });

  it('is completed where the record finds the server with less of it', async () => {
    appendFileSync(spool, TEXT);
    server.onRecord = first(1, () => {
      server.log = server.log.subarray(0, 5);
      return { type: 'ok' as const, offset: 5 };
    });
    expect((await reporter().finish(PASSED, 26)).reported).toBe('recorded');
    expect(server.log.toString()).toBe(TEXT);
  });

  it('ends at once where the run is somebody else’s by now', async () => {
    appendFileSync(spool, TEXT);
    server.onLog = (offset) => (offset < 8 ? null : { type: 'stale', why: 'attempt 2 runs' });
    expect((await reporter().finish(PASSED, 26)).reported).toBe('stale');
    expect(told).toEqual(['stale: attempt 2 runs']);
    expect(server.records).toEqual([]);
    expect(server.log.toString()).toBe(TEXT.slice(0, 8));
  });

  it('is cut where its spool became shorter, and the run keeps its record', async () => {
    appendFileSync(spool, TEXT);
    truncateSync(spool, 6);
    expect((await reporter().finish(PASSED, 26)).reported).toBe('recorded');
    expect(server.records).toEqual([{ outcome: PASSED, logLength: server.log.length }]);
  });

  it('brings a cancel from the reply to any frame', async () => {
    appendFileSync(spool, TEXT);
    server.onLog = first(1, (offset: number, bytes: Uint8Array) => ({
      ...server.takeLog(offset, bytes),
      cancel: 'a person said so',
    }));
    await reporter().finish(PASSED, 26);
    expect(told).toEqual(['cancel: a person said so']);
  });
});

describe('the last of the log', () => {
  let frames: number;
  beforeEach(() => {
    server.frameBytes = 64;
    frames = 0;
    server.onLog = () => {
      frames++;
      return null;
    };
    appendFileSync(spool, TEXT);
  });

  it('comes with the record where it is short', async () => {
    await reporter().finish(PASSED, 26);
    expect([server.log.toString(), frames, server.records.length]).toEqual([TEXT, 0, 1]);
  });

  it('is not kept back while the run goes on', async () => {
    const report = reporter();
    report.spooled(10);
    await until('it is sent', () => server.log.length === 10);
    await report.finish(PASSED, 26);
    expect([server.log.toString(), frames]).toEqual([TEXT, 1]);
  });

  it('that grows by a little at a time is gathered', async () => {
    const report = reporter();
    for (let at = 1; at <= 26; at++) {
      report.spooled(at);
      await Promise.resolve();
    }
    await until('it is sent', () => server.log.length === 26);
    await report.finish(PASSED, 26);
    expect(frames).toBe(1);
  });

  it('is not kept back for artifacts, which may take long', async () => {
    const report = reporter();
    const file = path.join(path.dirname(spool), 'dist');
    writeFileSync(file, 'bytes');
    report.artifact({ name: 'dist', path: file, bytes: 5, sha256: 'x' });
    await report.finish(PASSED, 26);
    expect([server.log.toString(), frames]).toEqual([TEXT, 1]);
  });

  it('is sent by itself to a server of the version before', async () => {
    server.protocol = RECORD_MORE_PROTOCOL_VERSION - 1;
    await reporter().finish(PASSED, 26);
    expect([server.log.toString(), frames, server.records.length]).toEqual([TEXT, 1, 1]);
  });

  it('is sent by itself where a server of the version before stands there after a break', async () => {
    server.onRecord = first(1, () => {
      server.protocol = RECORD_MORE_PROTOCOL_VERSION - 1;
      return server.hangUp();
    });
    expect((await reporter().finish(PASSED, 26)).reported).toBe('recorded');
    expect(server.log.toString()).toBe(TEXT);
  });

  it('is there once where the record arrived and its reply was lost', async () => {
    server.onRecord = first(1, (logLength: number, rest: LogRest | null) => {
      server.takeRecord(PASSED, logLength, rest);
      return server.hangUp();
    });
    expect((await reporter().finish(PASSED, 26)).reported).toBe('recorded');
    expect(server.log.toString()).toBe(TEXT);
  });

  it('is cut where its spool became shorter, and the run keeps its record', async () => {
    const report = reporter();
    truncateSync(spool, 6);
    expect((await report.finish(PASSED, 26)).reported).toBe('recorded');
    expect(server.records).toEqual([{ outcome: PASSED, logLength: 6 }]);
    expect(server.log.toString()).toBe(TEXT.slice(0, 6));
  });
});

describe('the next lease', () => {
  const request = { key: '12345678', waitSeconds: 60, freeCpus: 1, freeMemoryBytes: 0 };
  let asked: Promise<unknown>[];
  let next: NextLease;
  beforeEach(() => {
    asked = [];
    next = { request: () => request, asked: (_session, reply) => void asked.push(reply) };
  });
  const finish = (ended = PASSED) => reporter(link).finish(ended, 0, (same) => same, next);

  it('is asked for with the record', async () => {
    expect((await finish()).reported).toBe('recorded');
    expect([server.leases, server.records.length, asked.length]).toEqual([[request], 1, 1]);
  });

  it('is not where the slot takes no more, nor of a server of the version before', async () => {
    next = { ...next, request: () => null };
    await finish();
    server.protocol = RECORD_MORE_PROTOCOL_VERSION - 1;
    await link.close();
    link = server.link();
    next = { ...next, request: () => request };
    expect((await finish()).reported).toBe('recorded');
    expect([server.leases, asked]).toEqual([[], []]);
  });

  it('is asked for once, though the record is sent again after a break', async () => {
    server.onRecord = first(2, () => server.hangUp());
    expect((await finish()).reported).toBe('recorded');
    expect([server.leases.length, server.connects]).toEqual([1, 3]);
    expect(await asked[0]).toMatchObject({ type: 'disconnected' });
  });

  it('is given up where the record finds the server with less of the log', async () => {
    appendFileSync(spool, TEXT);
    server.onRecord = first(1, () => {
      server.log = server.log.subarray(0, 5);
      return { type: 'ok' as const, offset: 5 };
    });
    expect((await reporter().finish(PASSED, 26, (same) => same, next)).reported).toBe('recorded');
    expect(await asked[0]).toMatchObject({ type: 'disconnected' });
    expect([server.log.toString(), server.connects, server.leases.length]).toEqual([TEXT, 2, 1]);
  });
});

describe('an artifact', () => {
  function artifact(name = 'dist', text = 'artifact bytes') {
    const file = path.join(path.dirname(spool), name);
    writeFileSync(file, text);
    const sha256 = createHash('sha256').update(text).digest('hex');
    return { name, path: file, bytes: text.length, sha256 };
  }

  it('is resumed from what the server has after a break', async () => {
    server.onArtifact = first(2, (part: { offset: number }) => (part.offset === 4 ? server.hangUp() : null));
    const report = reporter();
    report.artifact(artifact());
    expect((await report.finish(PASSED, 0)).reported).toBe('recorded');
    expect(server.artifacts.get('dist')).toEqual({ bytes: Buffer.from('artifact bytes'), complete: true });
    expect(server.connects).toBe(2);
  });

  it('is sent before the record', async () => {
    const report = reporter();
    report.artifact(artifact('one'));
    report.artifact(artifact('two'));
    let complete = 0;
    server.onRecord = () => {
      complete = [...server.artifacts.values()].filter((one) => one.complete).length;
      return null;
    };
    await report.finish(PASSED, 0);
    expect(complete).toBe(2);
  });

  it.each(['says so', 'ends the session'] as const)(
    'whose digest the server refuses fails its run after three tries where the server %s',
    async (how) => {
      let tries = 0;
      server.onArtifact = (part) => {
        if (!part.last) return null;
        tries++;
        server.artifacts.delete('dist');
        return how === 'says so' ? { type: 'ok', offset: 0 } : server.hangUp('protocol');
      };
      const report = reporter();
      report.artifact(artifact());
      const { outcome, reported } = await report.finish(PASSED, 0);
      expect(reported).toBe('recorded');
      expect(outcome).toMatchObject({ result: 'failed', reason: 'artifact' });
      expect(outcome.detail).toContain('dist');
      expect(tries).toBeLessThanOrEqual(3);
      expect(server.records[0]?.outcome).toEqual(outcome);
    },
  );

  it.each([
    ['a FIFO', (file: string) => execFileSync('mkfifo', [file])],
    ['a link', (file: string) => symlinkSync('/dev/zero', file)],
    ['a shorter file', (file: string) => writeFileSync(file, 'art')],
  ])('in whose place %s was put fails its run and holds nothing up', async (_, replace) => {
    const packed = artifact();
    rmSync(packed.path);
    replace(packed.path);
    const report = reporter();
    report.artifact(packed);
    const { outcome, reported } = await report.finish(PASSED, 0);
    expect(outcome).toMatchObject({ result: 'failed', reason: 'artifact' });
    expect(reported).toBe('recorded');
  });

  it('that cannot be read fails its run, and a run that failed keeps its own reason', async () => {
    const gone = { ...artifact(), path: path.join(path.dirname(spool), 'gone') };
    const report = reporter();
    report.artifact(gone);
    expect((await report.finish(PASSED, 0)).outcome).toMatchObject({ result: 'failed', reason: 'artifact' });
    const failed = { ...PASSED, result: 'failed', reason: 'exit', detail: 'exit code 3' } as const;
    const other = reporter();
    other.artifact(gone);
    expect((await other.finish(failed, 0)).outcome).toEqual(failed);
  });
});
