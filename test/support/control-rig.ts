import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { controlWorker } from '../../src/server/control/open.ts';
import type { ControlWorker } from '../../src/server/control/worker.ts';
import { ForgeClients } from '../../src/server/forges/clients.ts';
import { ForgeSettings } from '../../src/server/forges/settings.ts';
import { RunEventHub } from '../../src/server/queue/run-event-hub.ts';
import { Secrets } from '../../src/server/secrets/secrets.ts';
import type { Forge } from '../../src/server/store/control.ts';
import { openSqliteStore } from '../../src/server/store/open.ts';
import type { NewRun, Store } from '../../src/server/store/store.ts';
import type { RunState } from '../../src/shared/outcome.ts';
import { BOT_TOKEN, FakeForge } from './forge/forge.ts';
import type { Project } from './forge/state.ts';
import { aClaim, newPipeline, newRun, outcome, TestClock } from './store-rig.ts';
import { Cleanup } from './temp.ts';
import { until } from './until.ts';

export const PUBLIC_URL = 'https://ci.example';
export const REPOSITORY = 'team/app';
export const SHA = 'a'.repeat(40);

/** A real store and the control work on it, against the stand-in of a forge. */
export class ControlRig {
  readonly cleanup: Cleanup;
  readonly forge: FakeForge;
  readonly project: Project;
  readonly tokenFile: string;
  readonly faults: unknown[] = [];
  /** Moved by the tests: nothing waits in real time. */
  readonly clock = new TestClock();
  readonly #dir: string;
  store!: Store;
  settings!: ForgeSettings;
  secrets!: Secrets;
  #worker: ControlWorker | null = null;
  #clients: ForgeClients | null = null;

  private constructor(cleanup: Cleanup, forge: FakeForge) {
    this.cleanup = cleanup;
    this.forge = forge;
    this.project = forge.project(REPOSITORY);
    this.#dir = cleanup.tempDir('vole-control-');
    this.tokenFile = path.join(this.#dir, 'token');
    writeFileSync(this.tokenFile, `${BOT_TOKEN}\n`);
  }

  /** With one repository that has a forge; `start` begins the work. */
  static async open(): Promise<ControlRig> {
    const cleanup = new Cleanup();
    const rig = new ControlRig(cleanup, await FakeForge.start(cleanup));
    await rig.#openStore();
    cleanup.defer(async () => {
      await rig.stop();
      await rig.store.close();
    });
    // The stand-in's is the real one.
    rig.clock.wall = Date.now();
    await rig.register(rig.project);
    return rig;
  }

  async register(project: Project, change: Partial<Forge> = {}): Promise<void> {
    await this.store.repositories.add({ name: project.name, cloneUrl: '/nowhere', maxJobs: null });
    await this.settings.set({
      repository: project.name,
      kind: 'gitea',
      project: project.name,
      apiUrl: this.forge.apiUrl,
      tokenFile: this.tokenFile,
      botLogin: null,
      ...change,
    });
  }

  /** Begins the control work, as a server that starts; on the store as it was left. */
  async start(limits = { timeoutMs: 2_000, maxBytes: 1024 * 1024 }): Promise<void> {
    this.#clients = new ForgeClients({
      forges: this.store.forges,
      clock: this.clock,
      limits,
    });
    this.#worker = controlWorker({
      store: this.store,
      clients: this.#clients,
      secrets: this.secrets,
      events: this.#events,
      publicUrl: PUBLIC_URL,
      clock: this.clock,
      random: () => 0.5,
      onFault: (error) => this.faults.push(error),
      onDead: () => {},
    });
    await this.#worker.start();
  }

  async stop(): Promise<void> {
    this.#clients?.close();
    await this.#worker?.close();
    this.#worker = null;
  }

  /** As a server that starts again. */
  async restart(): Promise<void> {
    await this.stop();
    await this.store.close();
    await this.#openStore();
    await this.start();
  }

  /** Queues runs at `SHA`; their ids. */
  async queue(...runs: NewRun[]): Promise<number[]> {
    return (await this.store.runs.createPipeline(newPipeline(runs, { repository: REPOSITORY, sha: SHA })))
      .runs;
  }

  /** A command on an issue, as a comment of this author asked for it. */
  async command(issue: number, author: string, name = 'plan', repository = REPOSITORY): Promise<number> {
    const comment = 5_000 + issue;
    const run = newRun({
      key: name,
      kind: 'command',
      state: 'received',
      serial: `${repository}#${issue}`,
      command: { issue, comment, author, name },
    });
    const { runs } = await this.store.runs.createPipeline(newPipeline([run], { repository }));
    return runs[0] ?? 0;
  }

  /** Leases whatever is next; its run and attempt, or null. */
  async lease(): Promise<{ run: number; attempt: number } | null> {
    return this.store.runs.claim(aClaim({ maxCommands: 32 }));
  }

  async leased(): Promise<{ run: number; attempt: number }> {
    const run = await this.lease();
    if (run === null) throw new Error('nothing to lease');
    return run;
  }

  async finish(run: { run: number; attempt: number }, result: 'passed' | 'failed' = 'passed'): Promise<void> {
    await this.store.runs.record('build1', run.run, run.attempt, outcome(result), 0);
  }

  /** Until no task waits and none is in flight. */
  async idle(deadlineMs = 30_000): Promise<void> {
    const open = async () =>
      (await this.store.tasks.list({ states: ['waiting', 'claimed'], limit: 1 })).length;
    await until('all control work to be done', async () => (await open()) === 0, deadlineMs);
  }

  /** Lets time pass, and whoever waits for it look. */
  pass(ms: number): void {
    this.clock.pass(ms);
    // A steady clock counts parts of milliseconds.
    this.clock.steady += 0.4;
    this.#events.tasks();
  }

  /** Lets time pass in steps of a second, each when what was due in it is done, until nothing waits any more. */
  async passUntilIdle(mostMs = 3 * 3_600_000): Promise<void> {
    for (let passed = 0; passed <= mostMs; passed += 1_000) {
      await this.quiet();
      if ((await this.store.tasks.list({ states: ['waiting'], limit: 1 })).length === 0) return;
      this.pass(1_000);
    }
    throw new Error('tasks still wait');
  }

  /** Lets changes that follow one another fast be shown, and waits until they are. */
  async settle(): Promise<void> {
    await this.quiet();
    this.pass(200);
    await this.quiet();
  }

  /** What was given up, and why. */
  async dead(): Promise<string[]> {
    const tasks = await this.store.tasks.list({ states: ['dead'], limit: 1000 });
    return tasks.map(({ kind, error }) => `${kind}: ${error}`);
  }

  async runIs(run: number, state: RunState): Promise<void> {
    await until(`run ${run} to be ${state}`, async () => (await this.store.runs.get(run))?.state === state);
  }

  /** Until nothing is in flight and nothing that waits is due. */
  async quiet(): Promise<void> {
    await until('control work to be quiet', async () => {
      const open = await this.store.tasks.list({ states: ['waiting', 'claimed'], limit: 1000 });
      return open.every(({ state, dueAt }) => state === 'waiting' && dueAt > this.clock.now());
    });
  }

  readonly #events = new RunEventHub();

  async #openStore(): Promise<void> {
    this.store = await openSqliteStore(path.join(this.#dir, 'vole.sqlite'), this.#events, this.clock);
    this.secrets = new Secrets(this.#dir, this.store);
    this.settings = new ForgeSettings(this.store.forges, this.secrets);
  }

  get databaseFile(): string {
    return path.join(this.#dir, 'vole.sqlite');
  }
}
