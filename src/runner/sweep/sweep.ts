import { existsSync, lstatSync, readdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { counted } from '../../shared/counted.ts';
import type { EngineFacts } from '../../shared/engine/types.ts';
import { oneLine } from '../../shared/errors.ts';
import { OWNER_FILE, readOwner } from '../../shared/owner-file.ts';
import type { KeptEnd, OwnerRecord } from '../../shared/owner-record.ts';
import {
  cgroupPopulated,
  cgroupsIn,
  killCgroup,
  ownCgroup,
  removeCgroup,
} from '../../shared/platform/cgroup.ts';
import { KilledProcesses } from '../../shared/platform/killed-processes.ts';
import { envOf, type ProcessStat, processesWithEnvPrefix } from '../../shared/platform/processes.ts';
import { agentMarkerPrefix } from '../agent/agent-marker.ts';
import { NEW_PREFIX } from '../dir/job-tree.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import { ProcessSeats } from '../dir/process-seats.ts';
import type { Trash } from '../dir/trash.ts';
import { removeLabelled, removeRecorded } from '../engine/leftovers.ts';
import { cgroupName } from '../runs/job-cgroups.ts';
import { MARKER_ENV } from '../runs/processes-of-run.ts';
import { type LeftLeases, renamed, takeLeftLeases } from './left-leases.ts';
import { hostFacts, leftoversOf, type OwnerFacts, ownerState } from './owner-state.ts';
import { ELSEWHERE, isAbandoned, markerOf, TAKEN, TREE } from './unowned-trees.ts';

/** A run whose runner has died; its tree stays until `dispose`, so that the rest of its log can be sent. */
export interface DeadRun {
  readonly run: number;
  readonly attempt: number;
  readonly server: string;
  readonly account: string;
  readonly spool: string;
  /** How it ended, where its runner knew and could not have it recorded. */
  readonly ended: KeptEnd | null;
  /** When its record was last written, epoch milliseconds. */
  readonly leftAt: number;
  dispose(): void;
  /** For the start of another runner on this directory, which finds it as if nobody had. */
  putBack(): void;
}

export interface Swept {
  readonly dead: readonly DeadRun[];
  readonly leases: readonly LeftLeases[];
  /** What was cleaned, and what was left and why, a line each. */
  readonly lines: readonly string[];
}

/** The engine of this process, or null, and the environment for the client of whichever a job had. */
export interface SweptEngine {
  readonly facts: EngineFacts | null;
  readonly env: Readonly<Record<string, string>>;
}

const GONE_MS = 10_000;
const INIT_GONE_MS = 1_000;

/**
 * Ends and removes what dead processes of this directory left. `process`: the name in the seat that
 * the caller holds. One sweep at a time; a dead run that one has taken is renamed to carry its
 * process's name until it is disposed of, so that no other reports it too while that one lives.
 */
export async function sweep(
  dir: RunnerDir,
  trash: Trash,
  process: string,
  engine: SweptEngine = { facts: null, env: {} },
): Promise<Swept> {
  const turn = await dir.guards.exclusive('sweep');
  try {
    const sweeper = new Sweeper(dir, trash, process, engine);
    await sweeper.lost();
    await sweeper.agents();
    await sweeper.trees();
    sweeper.leases();
    await sweeper.cgroups();
    await sweeper.engine();
    new ProcessSeats(dir).started(process);
    return sweeper.swept;
  } finally {
    turn.release();
  }
}

class Sweeper {
  readonly #dir: RunnerDir;
  readonly #trash: Trash;
  readonly #seats: ProcessSeats;
  readonly #process: string;
  readonly #engine: SweptEngine;
  readonly #dead: DeadRun[] = [];
  readonly #leases: LeftLeases[] = [];
  readonly #lines: string[] = [];
  #engineSwept = false;
  #waitedForInits = false;

  constructor(dir: RunnerDir, trash: Trash, process: string, engine: SweptEngine) {
    this.#dir = dir;
    this.#engine = engine;
    this.#process = process;
    this.#trash = trash;
    this.#seats = new ProcessSeats(dir);
    const emptied = trash.empty();
    if (emptied > 0) this.#lines.push(`finishing ${counted(emptied, 'interrupted removal')}`);
  }

  get swept(): Swept {
    return { dead: this.#dead, leases: this.#leases, lines: this.#lines };
  }

  /**
   * Processes of jobs that have removed their record or all of their tree: the marker in their
   * environment still leads to them. Only where no other runner lives, whose jobs they may be; one that
   * starts now waits for its turn to sweep before it runs any.
   */
  async lost(): Promise<void> {
    if (this.#alone && !(await endMarked(`${this.#dir.id}/`))) {
      this.#lines.push('processes of jobs whose runner has died withstand KILL');
    }
  }

  /** Agents' servers of dead processes, where the process itself could not end them, and what they started for no run. */
  async agents(): Promise<void> {
    const prefix = agentMarkerPrefix(this.#dir.id);
    const ended = await endProcesses(() =>
      processesWithEnvPrefix(MARKER_ENV, prefix).filter(
        ({ pid }) => !this.#seats.lives(envOf(pid, MARKER_ENV)?.slice(prefix.length) ?? ''),
      ),
    );
    if (!ended) this.#lines.push("an agents' server whose runner has died withstands KILL");
  }

  get #alone(): boolean {
    return !this.#seats.othersThan(this.#process);
  }

  async trees(): Promise<void> {
    for (const name of readdirSync(this.#dir.layout.jobs)) {
      const tree = path.join(this.#dir.layout.jobs, name);
      const taken = TAKEN.exec(name);
      if (TREE.test(name)) await this.#tree(tree);
      else if (taken) {
        if (!this.#seats.lives(taken[1] ?? '')) await this.#tree(tree);
      } else if (!name.startsWith(NEW_PREFIX)) {
        this.#lines.push(`left ${name} in jobs/: no tree of vole's has such a name`);
      }
      // Being made takes milliseconds, and nothing runs in it meanwhile.
      else if (isAbandoned(tree)) this.#put(tree);
    }
  }

  /**
   * Cgroups of dead processes, made in the cgroup that this process is in too, with what still runs in
   * them: a job that has removed its record is found here.
   */
  async cgroups(): Promise<void> {
    const parent = ownCgroup();
    const prefix = cgroupName(this.#dir.id, '');
    for (const name of parent ? cgroupsIn(parent) : []) {
      if (!parent || !name.startsWith(prefix) || this.#seats.lives(name.slice(prefix.length))) continue;
      const cgroup = path.join(parent, name);
      if (!(await endCgroup(cgroup))) this.#lines.push(`processes in ${cgroup} withstand KILL`);
      else removeCgroup(cgroup);
    }
  }

  /** Containers and networks that no record leads to any more. Once. */
  async engine(): Promise<void> {
    const { facts } = this.#engine;
    if (!facts || this.#engineSwept) return;
    this.#engineSwept = true;
    this.#lines.push(...(await removeLabelled(facts, this.#dir.id, (process) => this.#seats.lives(process))));
  }

  /** And the FIFOs, sockets and spare trees beside their keys. After the trees, which are reported before. */
  leases(): void {
    const folder = this.#dir.layout.fifos;
    if (!existsSync(folder)) return;
    const lives = (process: string): boolean => this.#seats.lives(process);
    this.#leases.push(...takeLeftLeases(folder, this.#process, lives, (file) => this.#put(file)));
  }

  async #tree(tree: string): Promise<void> {
    const name = path.basename(tree);
    const record = readOwner(tree);
    if (record !== null && record !== 'unreadable') return await this.#owned(record, tree);
    const fault = record === null ? 'no owner record' : 'an owner record that cannot be read';
    // Its job may have done it, which any process may run that lives; or the host has lost power.
    if (!this.#alone) {
      this.#lines.push(`left tree ${name}: it has ${fault}, and other runners live on this directory`);
    } else if (!(await endMarked(markerOf(this.#dir, name)))) {
      this.#lines.push(`left tree ${name}: it has ${fault}, and its processes withstand KILL`);
    } else {
      await this.engine(); // its containers first: no record names them
      this.#lines.push(`removed ${name} in jobs/, which has ${fault}`);
      this.#put(tree);
    }
  }

  async #owned(record: OwnerRecord, tree: string): Promise<void> {
    const { identity } = record;
    const name = path.basename(tree);
    if (identity.directory !== this.#dir.id) {
      this.#lines.push(`left tree ${name}: it was made in another directory`);
      return;
    }
    if (this.#seats.lives(identity.process)) return;
    const state = ownerState(record, await this.#factsOf(record));
    if (state === 'alive') return;
    if (state === 'unknown') {
      this.#lines.push(`left tree ${name}: ${ELSEWHERE}`);
      return;
    }
    if (state === 'leftovers' && !(await endLeftovers(record))) {
      this.#lines.push(`left tree ${name}: its processes withstand KILL`);
      return;
    }
    const kept = await removeRecorded(record, this.#engine.env);
    if (kept !== null) {
      this.#lines.push(`left tree ${name}: its container cannot be removed: ${kept}`);
      return;
    }
    if (identity.cgroup) removeCgroup(identity.cgroup);
    const { run, attempt, server, account } = identity;
    this.#lines.push(`swept run ${run} attempt ${attempt}, whose runner has died`);
    const mine = path.join(this.#dir.layout.jobs, `.taken.${this.#process}.${run}-${attempt}.${server}`);
    renameSync(tree, mine);
    const spool = path.join(mine, 'log');
    const { ended } = record;
    const leftAt = lstatSync(path.join(mine, OWNER_FILE), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const facts = { run, attempt, server, account, spool, ended, leftAt };
    this.#dead.push({
      ...facts,
      dispose: () => this.#put(mine),
      putBack: () => {
        // Where a job has put something in the way, it is found once this process has ended.
        renamed(mine, this.#dir.layout.jobTree(run, attempt, server));
      },
    });
  }

  /**
   * A runner that was the first process of its pid namespace, as in a container, takes that whole
   * namespace with it: the kernel kills what is in it when the runner has died. Its seat is free a moment
   * before that, so the moment is waited for.
   */
  async #factsOf({ identity }: OwnerRecord): Promise<OwnerFacts> {
    const facts = hostFacts();
    if (identity.pid !== 1 || identity.bootId !== facts.bootId) return facts;
    if (identity.pidNamespace === facts.pidNamespace) return facts;
    if (!this.#waitedForInits) await delay(INIT_GONE_MS);
    this.#waitedForInits = true;
    return { ...facts, pidNamespaceIsGone: () => true };
  }

  #put(file: string): void {
    try {
      this.#trash.put(file);
    } catch (error) {
      this.#lines.push(`${path.basename(file)} cannot be removed: ${oneLine(error)}`);
    }
  }
}

async function endLeftovers(record: OwnerRecord): Promise<boolean> {
  const { cgroup } = record.identity;
  const found = await endProcesses(() => leftoversOf(record));
  return found && (cgroup === null || (await endCgroup(cgroup)));
}

/** Ends the processes whose marker begins so. */
async function endMarked(marker: string): Promise<boolean> {
  return await endProcesses(() => processesWithEnvPrefix(MARKER_ENV, marker));
}

async function endCgroup(cgroup: string): Promise<boolean> {
  return await endAll(() => {
    if (!cgroupPopulated(cgroup)) return false;
    killCgroup(cgroup);
    return true;
  });
}

async function endProcesses(find: () => readonly ProcessStat[]): Promise<boolean> {
  const killed = new KilledProcesses();
  return await endAll(() => {
    for (const stat of find()) killed.kill(stat);
    return killed.anyAlive;
  });
}

/** `kill` says whether there was anything to end; it is called until there is not. */
async function endAll(kill: () => boolean): Promise<boolean> {
  const deadline = performance.now() + GONE_MS;
  while (kill()) {
    if (performance.now() > deadline) return false;
    await delay(10);
  }
  return true;
}
