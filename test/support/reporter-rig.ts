import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Reporter } from '../../src/runner/runs/reporter.ts';
import { SpoolReader } from '../../src/runner/runs/spool-reader.ts';
import type { SessionLink } from '../../src/runner/slots/session-link.ts';
import { FakeServer } from './fake-network.ts';
import { Cleanup } from './temp.ts';

export interface ReporterRig {
  readonly cleanup: Cleanup;
  readonly server: FakeServer;
  readonly link: SessionLink;
  /** File of the log, empty at first. */
  readonly spool: string;
  /** What the run was told, a line each. */
  readonly told: string[];
  /** Of run 7, attempt 1; on the rig's link where no other is given. */
  readonly reporter: (over?: SessionLink) => Reporter;
}

export function reporterRig(): ReporterRig {
  const cleanup = new Cleanup();
  const server = new FakeServer();
  const link = server.link();
  cleanup.defer(() => link.close());
  const spool = path.join(cleanup.tempDir(), 'log');
  writeFileSync(spool, '');
  const told: string[] = [];
  const events = {
    cancel: (why: string) => void told.push(`cancel: ${why}`),
    stale: (why: string) => void told.push(`stale: ${why}`),
    unrecorded: ({ outcome, logLength }: { outcome: { result: string }; logLength: number }) =>
      void told.push(`unrecorded: ${outcome.result}, ${logLength}`),
  };
  const reporter = (over = link): Reporter =>
    new Reporter(over, { run: 7, attempt: 1 }, SpoolReader.left(spool), events);
  return { cleanup, server, link, spool, told, reporter };
}

/** The first `times` messages are answered by `answer`, the others as ever. */
export function first<A extends unknown[], R>(times: number, answer: (...args: A) => R) {
  let seen = 0;
  return (...args: A): R | null => (seen++ < times ? answer(...args) : null);
}
