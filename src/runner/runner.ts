import { AGENT_LABEL } from '../shared/agent/spec.ts';
import { VoleError } from '../shared/errors.ts';
import { ContactLog } from './contact.ts';
import {
  advance,
  INITIAL,
  type LifecycleEvent,
  type LifecycleMode,
  type LifecycleState,
  modeLine,
} from './lifecycle.ts';
import type { RunnerLog, RunnerOptions } from './options.ts';
import { Resources } from './slots/resources.ts';
import { type LinkEvent, SessionLink } from './slots/session-link.ts';
import { Slot, type SlotServices } from './slots/slot.ts';
import { type HostServices, prepareHost } from './start-up.ts';

/** How long cancelled runs may take to end and report, beyond their grace, before they are killed. */
const CANCEL_BOUND_MS = 20_000;

export interface RunnerEnd {
  /** 0, or what the refusal, the interruption or `--exit-status` says. */
  readonly exitStatus: number;
  /** One line for standard error, or null. */
  readonly error: string | null;
  readonly runs: number;
}

/**
 * A runner process: starts up, keeps its slots going, and ends. All of it is on the main thread,
 * which never blocks: the work is done by the pool's threads.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #log: RunnerLog;
  #state: LifecycleState = INITIAL;
  #slots: Slot[] = [];
  #timer: NodeJS.Timeout | null = null;
  #started = 0;
  #runs = 0;
  #unpassed = 0;
  /** Runs that had ended and whose record the server never took. */
  readonly #unreported: string[] = [];
  readonly #connected = new Set<number>();
  readonly #contact: ContactLog;
  readonly #starting = new AbortController();

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#contact = new ContactLog(options.log, true);
  }

  /** From start-up to the end. Rejects with a VoleError where start-up fails. `onReady`: all slots are connected. */
  async run(onReady: () => void): Promise<RunnerEnd> {
    let host: HostServices | null = null;
    try {
      host = await prepareHost(this.#options, this.#starting.signal);
      if (!host) return this.#end(); // told to end while starting up
      this.#slots = this.#makeSlots(host, onReady);
      if (this.#state.mode !== 'running') this.#follow(INITIAL);
      await Promise.all(this.#slots.map((slot) => slot.loop().finally(() => this.#contact.left(slot.index))));
      if (this.#started === 0 && this.#state.mode === 'running')
        this.#log.info({}, 'no run was there to take; with --once the runner ends');
      this.#apply({ type: 'slots-closed' });
      return this.#end();
    } finally {
      if (this.#timer) clearTimeout(this.#timer);
      await host?.close();
    }
  }

  /** A SIGTERM or SIGINT: the first drains, the second cancels, the third kills. */
  signal(): void {
    this.#apply({ type: 'signal', atMs: performance.now() });
  }

  /** Ends the grace of what was cancelled: KILL now, then its report. */
  hurry(): void {
    for (const slot of this.#slots) slot.hurry();
  }

  /** Ends what runs at once, unreported: the server waits for its lease, or for the next start here. */
  kill(): void {
    this.#apply({ type: 'kill' });
  }

  /** Cancels what runs, as a person would on the server, without waiting for a heartbeat to bring it. */
  cancelRuns(why: string): void {
    for (const slot of this.#slots) slot.cancel('cancelled', why);
  }

  /** What each slot runs now. */
  get running(): { slot: number; run: number; job: string }[] {
    return this.#slots.flatMap(({ index, running }) =>
      running ? [{ slot: index, run: running.run, job: running.job }] : [],
    );
  }

  #makeSlots(host: HostServices, onReady: () => void): Slot[] {
    const options = this.#options;
    const services: SlotServices = {
      runs: host.runs,
      resources: new Resources(options.cpus, options.memoryBytes),
      leaseWaitMs: options.leaseWaitMs,
      once: options.once,
      mode: () => this.#state.mode,
      room: (signal) => host.room(signal),
      hasRoom: () => host.hasRoom(),
      noteLease: (slot, key) => host.noteLease(slot, key),
      leaveLease: (slot) => host.leaveLease(slot),
      onRefusedJob: (why) => this.#apply({ type: 'refused', refusal: { code: 'runner-refused', why } }),
      onRunStarted: (spec, slot) => {
        this.#started++;
        const { run, attempt, job } = spec;
        this.#log.info({ run, attempt, slot: shown(slot), job }, 'run started');
      },
      onRunEnded: (spec, slot, { outcome, reported }) => {
        if (reported === 'recorded') this.#runs++;
        if (outcome.result !== 'passed') this.#unpassed++;
        if (reported === 'abandoned') this.#unreported.push(`run ${spec.run} (${outcome.result})`);
        const { run, attempt } = spec;
        const facts = { run, attempt, slot: shown(slot), result: outcome.result, reported };
        this.#log.info(outcome.detail ? { ...facts, detail: outcome.detail } : facts, 'run ended');
        if (outcome.reason === 'disk-full') host.lookAtDisk();
      },
    };
    return Array.from({ length: options.jobs }, (_, index) => {
      const link = new SessionLink({
        connect: options.connect,
        endpoint: options.endpoint,
        hello: { ...options.hello, labels: labelsOf(options), engine: host.engine, slot: index },
        backoffMs: options.backoffMs,
        welcomed: true,
        onEvent: (event) => this.#onLink(index, event, onReady),
      });
      return new Slot(index, services, link);
    });
  }

  #onLink(index: number, event: LinkEvent, onReady: () => void): void {
    switch (event.type) {
      case 'connected': {
        this.#log.debug({ slot: shown(index), session: event.session }, 'connected');
        this.#contact.connected(index);
        this.#slots[index]?.reconnected();
        const before = this.#connected.size;
        this.#connected.add(index);
        if (before < this.#options.jobs && this.#connected.size === this.#options.jobs) onReady();
        return;
      }
      case 'disconnected': {
        const { reason, why } = event.disconnect;
        this.#log.debug({ slot: shown(index), reason, tries: event.tries }, why);
        this.#contact.lost(index, event);
        return;
      }
      case 'refused': {
        const { code, why } = event.disconnect;
        this.#slots[index]?.cancel('interrupted', why);
        if (code === 'protocol') {
          this.#apply({ type: 'outdated', refusal: { code: 'protocol-refused', why } });
        } else this.#apply({ type: 'refused', refusal: { code: 'runner-refused', why } });
        return;
      }
      default:
        event satisfies never;
    }
  }

  #apply(event: LifecycleEvent): void {
    const before = this.#state;
    this.#state = advance(before, event);
    this.#follow(before);
  }

  /** Does what the change of state means. */
  #follow(before: LifecycleState): void {
    const { mode, kill, refusal } = this.#state;
    if (mode === before.mode && kill === before.kill) return;
    if (mode !== before.mode) this.#say(mode);
    if (mode !== 'running') this.#starting.abort();
    if (mode === 'stopped') return;
    for (const slot of this.#slots) slot.leave();
    if (kill) {
      for (const slot of this.#slots) slot.kill();
    } else if (mode === 'cancelling') {
      const why = refusal ? `the runner stops: ${refusal.why}` : 'the runner was told to stop';
      for (const slot of this.#slots) {
        slot.cancel('interrupted', why);
        slot.giveUpReport();
      }
      this.#after(this.#cancelMs, { type: 'cancel-timeout' });
    } else if (mode === 'draining') {
      this.#after(this.#options.drainTimeoutMs, { type: 'drain-timeout' });
    }
  }

  get #cancelMs(): number {
    return this.#options.killGraceMs + CANCEL_BOUND_MS;
  }

  #say(mode: LifecycleMode): void {
    const running = this.running.length;
    const times = { drainMs: this.#options.drainTimeoutMs, cancelMs: this.#cancelMs };
    this.#log.info({ running }, modeLine(mode, { running, ...times }));
  }

  #after(ms: number, event: LifecycleEvent): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#apply(event), Math.min(ms, 2 ** 31 - 1));
  }

  #end(): RunnerEnd {
    const { refusal, interrupted } = this.#state;
    const runs = this.#runs;
    if (refusal) {
      const error = new VoleError(refusal.code, refusal.why);
      return { exitStatus: error.exit, error: error.message, runs };
    }
    if (interrupted) {
      const missing = this.#unreported.length > 0 ? `; not reported: ${this.#unreported.join(', ')}` : '';
      const error = new VoleError('interrupted', `ended before its runs were done${missing}`);
      return { exitStatus: error.exit, error: error.message, runs };
    }
    return { exitStatus: this.#options.exitStatus && this.#unpassed > 0 ? 1 : 0, error: null, runs };
  }
}

/** People count slots from 1, as the pages and `vole run` do; messages count them from 0. */
function shown(slot: number): number {
  return slot + 1;
}

/** What the runner can do beside what it was told to offer. */
function labelsOf({ hello, agent }: RunnerOptions): string[] {
  return agent ? [...new Set([...hello.labels, AGENT_LABEL])] : hello.labels;
}
