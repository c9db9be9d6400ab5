import { setTimeout as delay } from 'node:timers/promises';
import { AGENT_PROVIDER } from '../../../shared/agent/access.ts';
import type { AgentOptions, ModelChoice } from '../../../shared/agent/options.ts';
import type { AgentRole, AgentSession, TurnEnd, TurnRequest } from '../engine.ts';
import type { Connection, Got } from './connection.ts';
import type { SessionHost } from './engine-parts.ts';
import { Listener } from './listener.ts';
import { Progress } from './progress.ts';
import { failed, isComplete, type MessageWithParts, turnEnd } from './turn-end.ts';

/** How often the server is asked whether the turn still runs, when nothing else tells. */
const ASK_MS = 1_000;
const IDLE_ASK_MS = 100;
/**
 * The server says that a session is idle before it has begun with a prompt, which on a busy host takes many
 * seconds, and while its first answer is already there but open. So what is not complete is waited for.
 */
const IDLE_MS = 60_000;
const IDLE_OPEN_MS = 10_000;
/** How long an abort may take before what is left is ended without it. */
const ABORT_MS = 3_000;

const GO_ON =
  'The process that you ran in was restarted while you worked, and what you had started is gone. ' +
  'Look at what is done and what is not, then finish what was asked of you:\n\n';

/** How a turn stands, by one look at it. */
type Look =
  | { readonly type: 'runs' }
  | { readonly type: 'ended'; readonly last: MessageWithParts | null }
  | { readonly type: 'unreachable'; readonly late: boolean; readonly why: string };

/** Ends the waiting, and says so itself: the server's own account of an abort is not reliable. */
type Cut = 'stopped' | 'timeout' | 'steps';

export class OpenCodeSession implements AgentSession {
  readonly id: string;
  readonly #host: SessionHost;
  #busy = false;

  constructor(host: SessionHost, id: string) {
    this.#host = host;
    this.id = id;
  }

  async turn(request: TurnRequest): Promise<TurnEnd> {
    // The server would give a second prompt the first one's answer.
    if (this.#busy) throw new Error('a turn of this session is still running');
    this.#busy = true;
    try {
      const end = await this.#turn(request);
      return (await this.#host.afterTurn()) ?? end;
    } finally {
      this.#busy = false;
    }
  }

  async #turn(request: TurnRequest): Promise<TurnEnd> {
    const { main, options, say, mask } = this.#host.parts;
    const { turnTimeoutMs } = options;
    const progress = new Progress(say, mask);
    const cut = new AbortController();
    const cutBy = (why: Cut): void => cut.abort(why);
    const onStop = (): void => cutBy('stopped');
    main.stopping.addEventListener('abort', onStop);
    if (main.stopping.aborted) onStop();
    const timer = setTimeout(() => cutBy('timeout'), Math.min(turnTimeoutMs, 2 ** 31 - 1));
    try {
      let prompt = request.prompt;
      for (let starts = 0; ; starts++) {
        const held = await this.#hold({ ...request, prompt }, progress, cut);
        if (held.type === 'end') return held.end;
        // The server has died: it is started again, and the session gone on with, once.
        if (starts > 0) return this.#host.serverFailure(`it ended in mid-turn, twice: ${held.why}`);
        say("the agent's server ended in mid-turn: it is started again");
        await this.#host.endLeft();
        if (held.prompted) prompt = GO_ON + request.prompt;
      }
    } finally {
      clearTimeout(timer);
      main.stopping.removeEventListener('abort', onStop);
    }
  }

  /** One prompt, to its end on one server. */
  async #hold(
    request: TurnRequest,
    progress: Progress,
    cut: AbortController,
  ): Promise<{ type: 'end'; end: TurnEnd } | { type: 'lost'; why: string; prompted: boolean }> {
    const end = (end: TurnEnd): { type: 'end'; end: TurnEnd } => ({ type: 'end', end });
    if (cut.signal.aborted) return end(this.#ofCut(cut.signal.reason as Cut, progress));
    const connected = await this.#host.connect();
    if (!connected.ok) return end(connected.failure);
    const { connection } = connected;
    const before = await this.#newest(connection, cut.signal);
    if (cut.signal.aborted) return end(this.#ofCut(cut.signal.reason as Cut, progress));
    if (!before.ok) return { type: 'lost', why: before.why, prompted: false };
    const listener = new Listener(connection, this.id, progress, cut.signal);
    try {
      await listener.listening;
      if (cut.signal.aborted) return end(this.#ofCut(cut.signal.reason as Cut, progress));
      const sent = await connection.ask((client, options) =>
        client.session.promptAsync(promptOf(this.id, request, this.#host.parts.options.models), options),
      );
      if (!sent.ok && sent.status !== null) return end(this.#host.serverFailure(sent.why));
      if (!sent.ok) return { type: 'lost', why: sent.why, prompted: true };
      const look = await this.#wait(connection, before.data, listener, progress, cut);
      if (cut.signal.aborted) {
        await this.#abort(connection, before.data);
        return end(this.#ofCut(cut.signal.reason as Cut, progress));
      }
      if (look.type === 'unreachable') return { type: 'lost', why: look.why, prompted: true };
      if (look.type === 'ended' && look.last === null && listener.error !== null) {
        return end(failed('server', `the agent's server: ${listener.error}`));
      }
      const last = look.type === 'ended' ? look.last : null;
      for (const part of last?.parts ?? []) progress.part(part);
      return end(turnEnd(last, request.schema !== null));
    } finally {
      listener.close();
    }
  }

  /** Until the turn has ended, the server does not answer, or the turn is cut. */
  async #wait(
    connection: Connection,
    before: string | null,
    listener: Listener,
    progress: Progress,
    cut: AbortController,
  ): Promise<Look> {
    let idleSince = performance.now();
    let unreachable = 0;
    for (;;) {
      if (progress.isEndless(connection.access.mostSteps)) cut.abort('steps' satisfies Cut);
      const look = await this.#look(connection, before, progress, cut.signal);
      if (cut.signal.aborted) return look;
      if (look.type === 'ended') {
        const idleMs = performance.now() - idleSince;
        if (listener.error !== null || isComplete(look.last)) return look;
        if (idleMs > (look.last === null ? IDLE_MS : IDLE_OPEN_MS)) return look;
      }
      // One that is refused may be the host's; a server that has ended is known by its process.
      if (look.type === 'unreachable' && (look.late || ++unreachable >= 2)) return look;
      if (look.type === 'runs') {
        unreachable = 0;
        idleSince = performance.now();
      }
      const pause = look.type === 'ended' ? IDLE_ASK_MS : ASK_MS;
      await listener.stirred(pause);
    }
  }

  async #look(
    connection: Connection,
    before: string | null,
    progress: Progress,
    until: AbortSignal,
  ): Promise<Look> {
    const status = await connection.read((client, options) => client.session.status({}, options), { until });
    if (!status.ok) return { type: 'unreachable', late: status.late, why: status.why };
    const state = status.data[this.id];
    if (state) progress.status(state);
    if (state && state.type !== 'idle') return { type: 'runs' };
    const newest = await this.#newestMessage(connection, until);
    if (!newest.ok) return { type: 'unreachable', late: newest.late, why: newest.why };
    return { type: 'ended', last: answerSince(before, newest.data) };
  }

  async #newest(connection: Connection, until: AbortSignal): Promise<Got<string | null>> {
    const newest = await this.#newestMessage(connection, until);
    return newest.ok ? { ok: true, data: newest.data?.info.id ?? null } : newest;
  }

  async #newestMessage(connection: Connection, until?: AbortSignal): Promise<Got<MessageWithParts | null>> {
    const messages = await connection.read(
      (client, options) => client.session.messages({ sessionID: this.id, limit: 1 }, options),
      until ? { until } : {},
    );
    return messages.ok ? { ok: true, data: messages.data.at(-1) ?? null } : messages;
  }

  /**
   * Asks for it until the session is idle, and ends at once what it is busy with. A prompt that has not begun
   * yet is not ended by being asked once: it is waited for to begin, and for what is left when the run ends
   * the main thread has the server let go of the workspace.
   */
  async #abort(connection: Connection, before: string | null): Promise<void> {
    const deadline = performance.now() + ABORT_MS;
    const bound = { withinMs: ABORT_MS };
    const id = { sessionID: this.id };
    while (performance.now() < deadline) {
      const asked = connection.ask((client, options) => client.session.abort(id, options), bound);
      const [{ ok }] = await Promise.all([asked, this.#host.endLeft()]);
      const status = await connection.ask((client, options) => client.session.status({}, options), bound);
      if (!ok || !status.ok) return; // it is gone, and with it the turn
      const state = status.data[this.id];
      if (!state || state.type === 'idle') {
        const newest = await this.#newestMessage(connection, AbortSignal.timeout(ABORT_MS));
        if (!newest.ok || answerSince(before, newest.data) !== null) return;
      }
      await delay(IDLE_ASK_MS);
    }
  }

  #ofCut(cut: Cut, { failing }: Progress): TurnEnd {
    const { main, options } = this.#host.parts;
    switch (cut) {
      case 'stopped':
        return failed('stopped', main.stopped?.why ?? 'the run was stopped');
      case 'timeout': {
        const over = `the turn is over its ${Math.round(options.turnTimeoutMs / 1000)} s`;
        if (failing === null) return failed('timeout', over);
        return failed('provider', `${over}, and the model's service failed to its end: ${failing}`);
      }
      case 'steps':
        return failed('no-answer', 'the agent came to no end, though it was told to');
      default:
        return cut satisfies never;
    }
  }
}

/** The newest message, where it is the model's and of this turn. */
function answerSince(before: string | null, newest: MessageWithParts | null): MessageWithParts | null {
  return newest !== null && newest.info.id !== before && newest.info.role === 'assistant' ? newest : null;
}

function promptOf(
  sessionID: string,
  { role, prompt, schema }: TurnRequest,
  models: AgentOptions['models'],
): {
  sessionID: string;
  agent: string;
  model: { providerID: string; modelID: string };
  variant?: string;
  format?: { type: 'json_schema'; schema: Record<string, unknown> };
  parts: { type: 'text'; text: string }[];
} {
  const { model, variant } = modelOf(role, models);
  return {
    sessionID,
    agent: `vole-${role}`,
    model: { providerID: AGENT_PROVIDER, modelID: model },
    ...(variant === null ? {} : { variant }),
    ...(schema === null ? {} : { format: { type: 'json_schema', schema: { ...schema } } }),
    parts: [{ type: 'text', text: prompt }],
  };
}

function modelOf(role: AgentRole, models: AgentOptions['models']): ModelChoice {
  switch (role) {
    case 'explore':
      return models.explore ?? models.plan;
    case 'plan':
    case 'review':
      return models.plan;
    case 'build':
      return models.build;
    default:
      return role satisfies never;
  }
}
