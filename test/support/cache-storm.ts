import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { childFile } from './lock-children.ts';
import type { Random } from './random.ts';
import type { StormPlace, StormProcess } from './storm-places.ts';
import { until } from './until.ts';

interface Line {
  readonly what: string;
  readonly at: number;
  readonly by: string;
  readonly accused?: string;
  readonly [fact: string]: unknown;
}

export interface StormOptions {
  readonly dir: string;
  readonly ms: number;
  readonly processes: number;
  readonly guards: 'real' | 'broken';
  /** Where they are started, in turn. */
  readonly places: readonly StormPlace[];
  /** Shortest and longest SIGSTOP. */
  readonly stopMs: { readonly least: number; readonly most: number };
  readonly random: Random;
}

export interface StormResult {
  /** What must never happen. */
  readonly violations: readonly Line[];
  /** What should not happen either, and is no fault of the locks. */
  readonly faults: readonly Line[];
  readonly kills: number;
  readonly stops: number;
  /** Processes that have said something. */
  readonly begun: number;
  readonly held: number;
  readonly exclusive: number;
  readonly removed: number;
}

/** Processes that use and trim one directory, while this one kills, stops and replaces them at random. */
export async function storm(options: StormOptions): Promise<StormResult> {
  return await new Storm(options).run();
}

/** Without kills, and with stops only: at most `ms` long, and over when a lock was found out. */
export async function stormUntilFoundOut(options: StormOptions): Promise<StormResult> {
  return await new Storm(options).runUntilFoundOut();
}

const MOST_TIMES = 6;

class Storm {
  readonly #options: StormOptions;
  readonly #lines: Line[] = [];
  /** When each was killed, by label: what it left behind after that accuses nobody. */
  readonly #killedAt = new Map<string, number>();
  readonly #processes = new Map<string, StormProcess>();
  #made = 0;
  #kills = 0;
  #stops = 0;

  constructor(options: StormOptions) {
    this.#options = options;
  }

  async run(): Promise<StormResult> {
    const { ms, processes, random } = this.#options;
    try {
      for (let at = 0; at < processes; at += 1) this.#start();
      const begun = performance.now();
      const spent = (): number => performance.now() - begun;
      // On a busy machine little happens in the time: then it goes on until enough has.
      while (spent() < ms || (this.#isThin() && spent() < ms * MOST_TIMES)) {
        await delay(100 + random.below(400));
        const label = random.of([...this.#processes.keys()]);
        if (random.chance(50)) await this.#kill(label).then(() => this.#start());
        else void this.#stop(label);
      }
      return this.#result();
    } finally {
      await Promise.all([...this.#processes.keys()].map((label) => this.#kill(label)));
    }
  }

  /**
   * Stops one process after the other for longer than a lock lasts that time takes away, until a lock is
   * found out or `ms` have passed. Nobody is killed: who lost what it held must live to say so.
   */
  async runUntilFoundOut(): Promise<StormResult> {
    const { ms, processes } = this.#options;
    try {
      for (let at = 0; at < processes; at += 1) this.#start();
      await until('all have begun', () => this.#result().begun === processes, ms);
      const begun = performance.now();
      for (let at = 0; this.#result().violations.length === 0 && performance.now() - begun < ms; at += 1) {
        const label = `p${at % processes}`;
        const continued = await this.#stop(label);
        await until(`${label} to report after it was stopped`, () => this.#saidSince(label, continued));
      }
      return this.#result();
    } finally {
      await Promise.all([...this.#processes.keys()].map((label) => this.#kill(label)));
    }
  }

  #start(): void {
    const { dir, guards, places, random } = this.#options;
    const place = places[this.#made % places.length] as StormPlace;
    const label = `p${this.#made++}`;
    const line = [process.execPath, childFile('cache-storm'), dir, label, guards, `${random.below(1e9)}`];
    const started = place(line);
    createInterface({ input: started.out }).on('line', (text) => {
      if (text.endsWith('}')) this.#lines.push(JSON.parse(text) as Line);
    });
    this.#processes.set(label, started);
  }

  async #kill(label: string): Promise<void> {
    const known = this.#processes.get(label);
    this.#processes.delete(label);
    if (!known || known.ended) return;
    this.#killedAt.set(label, Date.now());
    this.#killedAt.set(`${label}t`, Date.now());
    await known.signal('SIGKILL');
    await known.whenEnded();
    this.#kills += 1;
  }

  /** Gives the time at which it was let go on. */
  async #stop(label: string): Promise<number> {
    const known = this.#processes.get(label);
    if (!known) return Date.now();
    await known.signal('SIGSTOP');
    this.#stops += 1;
    const { random, stopMs } = this.#options;
    await delay(stopMs.least + random.below(stopMs.most - stopMs.least + 1));
    const continued = Date.now();
    await known.signal('SIGCONT');
    return continued;
  }

  #saidSince(label: string, time: number): boolean {
    return this.#lines.some(({ by, at }) => by === label && at >= time);
  }

  /** Whether too little has happened to prove anything. */
  #isThin(): boolean {
    const { violations, kills, held, exclusive, removed } = this.#result();
    if (violations.length > 0) return false;
    return kills < 3 || held < 60 || exclusive < 20 || removed < 8;
  }

  #result(): StormResult {
    const of = (what: string) => this.#lines.filter((line) => line.what === what);
    const stillThere = ({ accused = '', at }: Line) => (this.#killedAt.get(accused) ?? Infinity) > at;
    const last = new Map<string, Line>();
    for (const line of of('counts')) last.set(line.by, line);
    const sum = (fact: string) => [...last.values()].reduce((total, line) => total + Number(line[fact]), 0);
    return {
      violations: [...of('lost'), ...of('overwritten'), ...of('beside').filter(stillThere)],
      faults: of('fault'),
      kills: this.#kills,
      stops: this.#stops,
      begun: new Set(of('counts').map(({ by }) => by.replace(/t$/, ''))).size,
      held: sum('held'),
      exclusive: sum('exclusive'),
      removed: sum('removed'),
    };
  }
}
