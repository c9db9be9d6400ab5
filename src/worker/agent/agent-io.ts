import { wholeLine } from '../../shared/errors.ts';
import type { JobSpec } from '../../shared/job-spec.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { MainThread } from '../port.ts';
import { workspaceFault } from '../real-folder.ts';
import { makeChange } from './change/hand-in-change.ts';
import { OwnGit } from './change/own-git.ts';
import { takeSnapshot } from './change/snapshot.ts';
import { type Unusable, unusable } from './change/unusable.ts';
import type { AgentEngine, AgentSession, Opened } from './engine.ts';
import type { Effect, FlowEvent, FlowFacts, SessionName } from './flows/flow.ts';
import type { Phases } from './phases.ts';

export interface AgentParts {
  readonly task: WorkerTask;
  readonly source: NonNullable<JobSpec['source']>;
  readonly savedCheckout: string;
  readonly facts: FlowFacts;
  readonly engine: AgentEngine;
  readonly main: MainThread;
  readonly log: RunLog;
  readonly phases: Phases;
}

type Doable = Exclude<Effect, { type: 'end' }>;
type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

/** Does what a flow decides: turns of sessions, git on the workspace, the push. Nothing expected is thrown. */
export class AgentIo {
  readonly #parts: AgentParts;
  readonly #sessions = new Map<SessionName, AgentSession>();
  /** Has the objects of the last snapshot. */
  #own: OwnGit | null = null;
  #publishing = false;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /** The author's session, once there is one. */
  get author(): AgentSession | null {
    return this.#sessions.get('author') ?? null;
  }

  /** Whether the server was asked to push. */
  get publishing(): boolean {
    return this.#publishing;
  }

  async carryOut(effect: Doable): Promise<FlowEvent> {
    const { phases } = this.#parts;
    switch (effect.type) {
      case 'resume':
        return await this.#resume(effect);
      case 'turn':
        return await phases.during(effect.phase, (number) => this.#turn(effect, number));
      case 'snapshot':
        return await phases.during('compare', (number) => this.#snapshot(number));
      case 'commit':
        return await phases.during('commit', (number) => this.#commit(effect, number));
      case 'publish':
        return await phases.during('publish', (number) => this.#publish(effect, number));
      default:
        return effect satisfies never;
    }
  }

  /** Ends what the agent left running, and says what that was. */
  async endLeftovers(): Promise<void> {
    const { engine, phases, log } = this.#parts;
    for (const line of await engine.endLeftovers()) log.say(phases.steps.length, line);
  }

  async #resume({ id }: Of<'resume'>): Promise<FlowEvent> {
    const { engine, log } = this.#parts;
    const opened = await engine.resume(id);
    if (opened?.ok) {
      this.#sessions.set('author', opened.session);
      log.say(0, 'going on with the session of the earlier command');
      return { type: 'resumed', found: true };
    }
    if (opened) return failed(opened);
    log.say(0, 'the session of the earlier command is gone: a new one is told all of it');
    return { type: 'resumed', found: false };
  }

  async #turn({ session: name, fresh, request }: Of<'turn'>, number: number): Promise<FlowEvent> {
    const { engine, facts, log, main } = this.#parts;
    if (main.stopped) return { type: 'turn-failed', reason: 'stopped', why: main.stopped.why };
    let session = fresh ? undefined : this.#sessions.get(name);
    if (!session) {
      const { command, target } = facts.spec;
      const opened = await engine.open(
        `${facts.repository}#${target.number} ${command}, run ${facts.run}: ${name}`,
      );
      if (!opened.ok) return failed(opened);
      session = opened.session;
      this.#sessions.set(name, session);
    }
    const end = await session.turn(request);
    // At once: what is cut, quoted and told to another session later has no secret in it any more.
    if (end.type === 'failed') return { type: 'turn-failed', reason: end.reason, why: log.mask(end.why) };
    const text = log.mask(end.text);
    const structured = masked(end.structured, log);
    if (structured !== undefined && structured !== null) log.say(number, JSON.stringify(structured));
    return { type: 'said', text, structured };
  }

  async #snapshot(number: number): Promise<FlowEvent> {
    const { task, source, savedCheckout, facts, main, log } = this.#parts;
    await this.endLeftovers();
    const fault = workspaceFault(task.paths);
    if (fault !== null) return unusableEvent(unusable(fault));
    try {
      this.#own = OwnGit.make(task, source, savedCheckout, main);
      const taken = await takeSnapshot(this.#own, task.paths.src, facts.parent, facts.spec.base);
      if (!taken.ok) return unusableEvent(taken);
      const { snapshot } = taken;
      for (const file of snapshot.files.slice(0, MOST_LISTED)) log.say(number, file);
      if (snapshot.files.length > MOST_LISTED) {
        log.say(number, `and ${snapshot.files.length - MOST_LISTED} more`);
      }
      for (const note of snapshot.notes) log.say(number, `left out: ${note}`);
      return { type: 'snapshot', snapshot };
    } catch (error) {
      return unusableEvent(unusable(wholeLine(error)));
    }
  }

  async #commit({ tree, message }: Of<'commit'>, number: number): Promise<FlowEvent> {
    const { task, facts, main, log } = this.#parts;
    await this.endLeftovers();
    if (!this.#own) throw new Error('a commit without a snapshot');
    const made = await makeChange(task, this.#own, { tree, parent: facts.parent, message });
    if (!made.ok) return unusableEvent(made);
    log.say(number, `commit ${made.commit}, ${made.artifact.bytes} bytes packed`);
    main.tell({ type: 'artifact', ...made.artifact });
    return { type: 'committed', commit: made.commit };
  }

  async #publish({ request }: Of<'publish'>, number: number): Promise<FlowEvent> {
    const { main, log } = this.#parts;
    this.#publishing = true;
    const published = await main.publish(request);
    if (published === null) {
      const why = 'the run was stopped while its change was being pushed';
      return { type: 'published', published: { state: 'failed', why } };
    }
    log.say(
      number,
      published.state === 'pushed' ? `pushed ${published.commit} to ${published.branch}` : published.why,
    );
    return { type: 'published', published };
  }
}

const MOST_LISTED = 200;

function failed({ failure }: Extract<Opened, { ok: false }>): FlowEvent {
  return { type: 'turn-failed', reason: failure.reason, why: failure.why };
}

function unusableEvent({ reason, why }: Unusable): FlowEvent {
  return { type: 'unusable', reason, why };
}

/** Each text in it. */
function masked(value: unknown, log: RunLog): unknown {
  if (typeof value === 'string') return log.mask(value);
  if (Array.isArray(value)) return value.map((item) => masked(item, log));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked(item, log)]));
}
