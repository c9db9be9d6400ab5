import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { AgentAccess } from '../../../shared/agent/access.ts';
import { TREE_CGROUP_FILE } from '../../../shared/agent/access.ts';
import { oneLine } from '../../../shared/errors.ts';
import type { AgentEngine, Opened } from '../engine.ts';
import { Connection } from './connection.ts';
import type { Connected, EngineParts, SessionHost } from './engine-parts.ts';
import { HiddenSettings } from './hidden-settings.ts';
import { endLeftovers } from './leftovers.ts';
import { OpenCodeSession } from './opencode-session.ts';
import { failed } from './turn-end.ts';

export type EngineMade =
  | { readonly ok: true; readonly engine: OpenCodeEngine }
  | { readonly ok: false; readonly failure: ReturnType<typeof failed> };

/** Makes sure of the agents' server of this runner process, which the first run that asks starts. */
export async function openCodeEngine(parts: EngineParts): Promise<EngineMade> {
  const { cgroup, tree } = parts.processes;
  if (cgroup !== null) {
    parts.main.tell({ type: 'cgroup-joined' });
    try {
      writeFileSync(path.join(tree, TREE_CGROUP_FILE), `${cgroup}\n`);
    } catch (error) {
      return { ok: false, failure: failed('server', `the run's tree cannot be written: ${oneLine(error)}`) };
    }
  }
  const engine = new OpenCodeEngine(parts);
  const connected = await engine.connect();
  return connected.ok ? { ok: true, engine } : connected;
}

const SESSION_ID = /^ses_[A-Za-z0-9]+$/;

/** Conversations of one run on the agents' server. */
export class OpenCodeEngine implements AgentEngine, SessionHost {
  readonly name = 'opencode';
  readonly parts: EngineParts;
  #connection: Connection | null = null;
  /** What was left running and has not been told of yet. */
  #ended: string[] = [];

  readonly #settings: HiddenSettings;

  constructor(parts: EngineParts) {
    this.parts = parts;
    this.#settings = new HiddenSettings(parts.workspace, parts.processes.tree);
  }

  get home(): string {
    return this.#connection?.access.home ?? '';
  }

  async open(title: string): Promise<Opened> {
    const { stopping: until } = this.parts.main;
    for (let again = false; ; again = true) {
      const connected = await this.connect();
      if (!connected.ok) return connected;
      const made = await connected.connection.ask(
        (client, options) => client.session.create({ title }, options),
        { until },
      );
      if (made.ok) return { ok: true, session: new OpenCodeSession(this, made.data.id) };
      // One that has just started may break off the first connection; one that has ended is started again.
      if (again || made.status !== null || until.aborted)
        return { ok: false, failure: this.serverFailure(made.why) };
    }
  }

  async resume(id: string): Promise<Opened | null> {
    if (!SESSION_ID.test(id)) return null;
    const connected = await this.connect();
    if (!connected.ok) return connected;
    const { connection } = connected;
    const { stopping: until } = this.parts.main;
    const found = await connection.read((client, options) => client.session.get({ sessionID: id }, options), {
      until,
    });
    if (!found.ok && (found.status === 404 || found.status === 400)) return null;
    if (!found.ok) return { ok: false, failure: this.serverFailure(found.why) };
    const { workspace, say } = this.parts;
    if (found.data.directory !== workspace) {
      // Its turns would be held in the tree of the run that opened it.
      const moved = await connection.ask(
        (client, options) =>
          client.experimental.controlPlane.moveSession(
            { sessionID: id, destination: { directory: workspace } },
            options,
          ),
        { until },
      );
      if (!moved.ok && moved.status === null) return { ok: false, failure: this.serverFailure(moved.why) };
      if (!moved.ok) {
        say(`the earlier conversation cannot be gone on with here: ${moved.why}`);
        return null;
      }
    }
    return { ok: true, session: new OpenCodeSession(this, id) };
  }

  /** The workspace is then as its commit has it, but for what the agent has changed. */
  async endLeftovers(): Promise<string[]> {
    const fault = await this.afterTurn();
    if (fault) this.#ended.push(fault.why);
    return this.#ended.splice(0);
  }

  async afterTurn(): Promise<ReturnType<typeof failed> | null> {
    await this.endLeft();
    const fault = this.#settings.show();
    return fault === null ? null : failed('server', fault);
  }

  async endLeft(): Promise<void> {
    this.#ended.push(
      ...(await endLeftovers(this.parts.processes, this.#connection?.access.namespace ?? null)),
    );
  }

  /** To the server as it is now: one that has ended is started again. */
  async connect(): Promise<Connected> {
    const fault = this.#settings.hide();
    if (fault !== null) return { ok: false, failure: this.serverFailure(fault) };
    const answer = await this.parts.main.agentServer();
    if (!answer.ok) return { ok: false, failure: this.serverFailure(answer.why) };
    if (this.#connection && sameServer(this.#connection.access, answer.access)) {
      return { ok: true, connection: this.#connection };
    }
    try {
      this.#connection = await Connection.to(answer.access, this.parts.workspace);
      return { ok: true, connection: this.#connection };
    } catch {
      // What Node.js says of it has folders of this host, and the runner has looked for it when it started.
      const why = 'the package @opencode-ai/sdk of this runner cannot be loaded: install it again';
      return { ok: false, failure: failed('server', why) };
    }
  }

  /** What went wrong while the run was stopped went wrong because of that. */
  serverFailure(why: string): ReturnType<typeof failed> {
    const { stopped } = this.parts.main;
    return stopped ? failed('stopped', stopped.why) : failed('server', `the agent's server: ${why}`);
  }
}

function sameServer(one: AgentAccess, other: AgentAccess): boolean {
  return one.url === other.url && one.password === other.password;
}
