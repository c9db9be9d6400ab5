import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { embeddedServer } from '../../src/cli/embedded-server.ts';
import type { RunnerOptions } from '../../src/runner/options.ts';
import { Runner, type RunnerEnd } from '../../src/runner/runner.ts';
import { connect } from '../../src/runner/session/connect.ts';
import { newKeyPair } from '../../src/runner/session/keys.ts';
import type { RunningServer } from '../../src/server/server.ts';
import type { NewRun, Run } from '../../src/server/store/store.ts';
import { Guards } from '../../src/shared/lock/guard.ts';
import { parseRecord } from '../../src/shared/log-record.ts';
import { isFinal } from '../../src/shared/outcome.ts';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { parsePublicKey } from '../../src/shared/public-key.ts';
import { newPipeline, newRun } from './store-rig.ts';
import { Cleanup } from './temp.ts';
import { until } from './until.ts';

const dist = path.resolve(import.meta.dirname, '../../dist');

/** A real server and a real Runner in this process; the worker file may be the test's own. */
export class RunnerRig {
  readonly cleanup = new Cleanup();
  readonly dir: string;
  readonly said: string[] = [];
  server!: RunningServer;
  runner!: Runner;
  ended!: Promise<RunnerEnd>;
  #options!: RunnerOptions;

  constructor() {
    this.dir = this.cleanup.tempDir('vole-runner-');
  }

  /** `workerFile` is a name under `dist/` */
  async start(given: Partial<RunnerOptions> & { worker: string }): Promise<void> {
    const { worker, ...options } = given;
    this.server = await embeddedServer(path.join(this.dir, 'data'), {});
    this.cleanup.defer(() => this.server.close());
    const key = newKeyPair();
    const parsed = parsePublicKey(key.publicKey);
    if (!parsed.ok) throw new Error(parsed.fault);
    await this.server.store.accounts.addKey('rig', parsed.key.publicKey, parsed.key.fingerprint);
    await this.server.store.repositories.add({ name: 'team/app', cloneUrl: '/nowhere', maxJobs: null });
    mkdirSync(path.join(this.dir, 'home'));
    const say = (facts: object, line: string): void =>
      void this.said.push(`${line} ${JSON.stringify(facts)}`);
    this.#options = {
      connect,
      endpoint: {
        ...this.server.ssh,
        account: 'rig',
        privateKey: key.privateKey,
        hostKeys: [this.server.fingerprint],
      },
      hello: {
        version: '0',
        machine: 'host1',
        process: `rig-${process.pid}`,
        slots: options.jobs ?? 1,
        labels: [],
        repos: [],
        cpus: 8,
        memoryBytes: 8e9,
      },
      backoffMs: () => 50,
      dir: path.join(this.dir, 'dir'),
      jobs: 1,
      once: false,
      exitStatus: false,
      keepUnreported: true,
      leaseWaitMs: 60_000,
      noCache: false,
      cacheSize: { bytes: 1e12 },
      gitSize: { bytes: 1e12 },
      minFree: { bytes: 0 },
      trimIntervalMs: 3_600_000,
      drainTimeoutMs: 60_000,
      killGraceMs: 200,
      logLimitBytes: 1e6,
      artifactLimitBytes: 1e6,
      engine: 'none',
      engineEnv: { PATH: process.env['PATH'] ?? '' },
      container: {
        limits: { memoryBytes: null, cpus: null, pids: null },
        user: null,
        pull: 'missing',
        serviceTimeoutMs: 120_000,
      },
      imageKeep: 20,
      agent: null,
      hostJobs: 'always',
      cpus: 8,
      memoryBytes: 8e9,
      baseEnv: { PATH: process.env['PATH'] ?? '' },
      gitEnv: {},
      home: path.join(this.dir, 'home'),
      workerFile: path.join(dist, worker),
      fileThreadFile: path.join(dist, 'file-thread.js'),
      spawnerFile: path.join(dist, 'spawner.js'),
      searchFile: path.join(dist, 'search.js'),
      log: { debug: say, info: say, warn: say },
      ...options,
    };
    this.runner = new Runner(this.#options);
    this.ended = this.runner.run(() => {});
    this.cleanup.defer(async () => {
      this.runner.kill();
      await this.ended;
    });
  }

  /** Queues a run whose step says what the worker is to do. */
  async queue(what: string, facts: Partial<NewRun> = {}): Promise<number> {
    const plain = newRun(facts);
    const [step] = plain.spec.steps;
    if (!step) throw new Error('no step');
    const run = newRun({ ...facts, spec: { ...plain.spec, steps: [{ ...step, run: what }] } });
    const made = await this.server.store.runs.createPipeline(newPipeline([run]));
    return made.runs[0] ?? 0;
  }

  /** The log of a run that says little. */
  smallLog(run: number, attempt = 1): string {
    return this.server.store.smallLogs.read(run, attempt)?.toString() ?? '';
  }

  /** What the steps printed, of a log that is in the database. */
  output(run: number, attempt = 1): string {
    const records = this.smallLog(run, attempt).split('\n').map(parseRecord);
    return records.flatMap((record) => (record && record.stream !== 'v' ? [record.text] : [])).join('\n');
  }

  async run(id: number): Promise<Run> {
    const run = await this.server.store.runs.get(id);
    if (!run) throw new Error(`no run ${id}`);
    return run;
  }

  async runEnded(id: number, deadlineMs = 30_000): Promise<Run> {
    return await until(
      `the end of run ${id}`,
      async () => {
        const run = await this.run(id);
        return isFinal(run.state) ? run : null;
      },
      deadlineMs,
    );
  }

  guards(): Guards {
    return new Guards(path.join(this.dir, 'dir', 'locks'));
  }

  /** Processes of this rig's runs of that job, where their worker is the odd one. */
  marked(job: string): number[] {
    return processesWithEnv('RIG_MARKER', `${this.dir} ${job}`).map((stat) => stat.pid);
  }

  close(): Promise<void> {
    return this.cleanup.run();
  }
}
