import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type AgentAccess, SERVER_SETTINGS } from '../../shared/agent/access.ts';
import type { AgentOptions, AgentService } from '../../shared/agent/options.ts';
import { oneLine } from '../../shared/errors.ts';
import { KilledProcesses } from '../../shared/platform/killed-processes.ts';
import { processesWithEnv } from '../../shared/platform/processes.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import { AgentHome } from './agent-home.ts';
import { agentMarker } from './agent-marker.ts';
import { ModelProxy } from './model-proxy.ts';
import { findOpenCode, hostKind } from './opencode-binary.ts';
import { CONTEXT7_URL, MOST_STEPS, openCodeConfig } from './opencode-config.ts';
import { mayNamespace, type NamespaceKind, type OpenCodeProcess, startOpenCode } from './opencode-process.ts';

export interface AgentServerParts {
  readonly dir: RunnerDir;
  /** Name of the runner process. */
  readonly process: string;
  readonly options: Pick<AgentOptions, 'models'>;
  readonly service: AgentService;
  /** PATH of the server, and of the agents' commands behind the tools of the directory. */
  readonly path: string;
  /** Of the built program: what is run as `rg` where there is none on that PATH. */
  readonly searchFile: string;
  /** In place of the best that the runner may make. */
  readonly namespace?: NamespaceKind;
  readonly mostSteps?: number;
  readonly documentationUrl?: string;
  /** How long it may be silent before it is taken to hang. */
  readonly answerMs?: number;
  /** What became of it, for the runner's own log. */
  readonly say: (facts: object, line: string) => void;
  /** The same, where an operator should look. */
  readonly warn: (facts: object, line: string) => void;
}

export type AgentAnswer = { ok: true; access: AgentAccess } | { ok: false; why: string };

/** Of files, in one line of the log. */
const MOST_NAMES = 10;
const GONE_MS = 10_000;
const LEAVE_MS = 5_000;
/** It answers in milliseconds; on a host that is busy it may have no turn for seconds. */
const ANSWER_MS = 30_000;

/**
 * The one private OpenCode server of a runner process: started when a run first asks for it, and again with
 * the next one that asks after it has died. It ends with the runner, however that ends.
 */
export class AgentServer {
  readonly #parts: AgentServerParts;
  #home: AgentHome | null = null;
  #proxy: ModelProxy | null = null;
  #server: OpenCodeProcess | null = null;
  #asked: Promise<AgentAnswer> | null = null;
  #looking: Promise<boolean> | null = null;
  #closed = false;

  constructor(parts: AgentServerParts) {
    this.#parts = parts;
  }

  /**
   * To be asked before each turn: a server that is gone is started again, and so is one whose home somebody
   * has put programs or orders into, for it may have them in its memory. Never rejects.
   */
  async access(): Promise<AgentAnswer> {
    const before = this.#asked;
    if (before && (await this.#isGone()) && this.#asked === before) this.#asked = null;
    const asked = (this.#asked ??= this.#start());
    const answer = await asked;
    // What failed may go well with the next run.
    if (!answer.ok && this.#asked === asked) this.#asked = null;
    return answer;
  }

  /**
   * At the end of a run: ends what the server still does in its workspace, since the run's thread may have
   * died in the middle of a turn, and lets go what the server holds in memory for it. Never rejects.
   */
  async leave(workspace: string): Promise<void> {
    const server = this.#server;
    if (!server || server.program.ended) return;
    try {
      // Nobody needs them any more, and the server reads a workspace that it does not know yet.
      for (const name of SERVER_SETTINGS) {
        rmSync(path.join(workspace, name), { recursive: true, force: true });
      }
      const headers = { 'x-opencode-directory': encodeURIComponent(workspace) };
      await this.#request(server, '/instance/dispose', { method: 'POST', headers }, LEAVE_MS);
    } catch (error) {
      this.#parts.say({ workspace }, `the agents' server does not leave a workspace: ${oneLine(error)}`);
    }
  }

  /** Ends it, and what it has left running. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#asked;
    await this.#server?.program.stop();
    await this.#endLeft();
    await this.#proxy?.close();
    this.#home?.release();
  }

  /** Whether it has ended, or has to be taken for it: one that answers nothing is ended. */
  #isGone(): Promise<boolean> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #look(): Promise<boolean> {
    await this.#asked; // while it starts it is not asked
    const server = this.#server;
    if (!server || this.#closed) return false;
    if (server.program.ended) return true;
    try {
      await this.#request(server, '/global/health', { method: 'GET' }, this.#parts.answerMs ?? ANSWER_MS);
    } catch (error) {
      this.#parts.say({}, `the agents' server does not answer and is ended: ${oneLine(error)}`);
      await server.program.stop();
      return true;
    }
    // The last thing of the look, and at once: whoever asked meanwhile relies on it too.
    const foreign = this.#foreign();
    if (foreign.length === 0) return false;
    const names = foreign.slice(0, MOST_NAMES).map((name) => JSON.stringify(name));
    const more = foreign.length > names.length ? ` and ${foreign.length - names.length} more` : '';
    this.#parts.warn(
      { home: this.#home?.id },
      `an agent's command has changed what the agents' server reads, so that is ended: ${names.join(', ')}${more}`,
    );
    await server.program.stop();
    return true;
  }

  #foreign(): string[] {
    try {
      return this.#home?.foreign(this.#parts.searchFile) ?? [];
    } catch (error) {
      return [oneLine(error)]; // what cannot be looked at is not to be relied on
    }
  }

  /** Rejects where it is not answered well. */
  async #request(
    server: OpenCodeProcess,
    path: string,
    init: { method: string; headers?: Record<string, string> },
    withinMs: number,
  ): Promise<void> {
    const login = Buffer.from(`opencode:${server.password}`).toString('base64');
    const response = await fetch(`${server.url}${path}`, {
      method: init.method,
      headers: { ...init.headers, authorization: `Basic ${login}` },
      signal: AbortSignal.timeout(withinMs),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`it answered ${response.status}`);
  }

  async #start(): Promise<AgentAnswer> {
    if (this.#closed) return { ok: false, why: 'the runner is stopping' };
    try {
      return await this.#tryStart();
    } catch (error) {
      // What comes of it is shown beside the repository, and names files of this host.
      this.#parts.warn({}, `the agents' server cannot be started: ${oneLine(error)}`);
      return { ok: false, why: "it cannot be started; the runner's log says why" };
    }
  }

  async #tryStart(): Promise<AgentAnswer> {
    const { dir, process: name, options, service, say } = this.#parts;
    const found = findOpenCode(hostKind(process.arch, readFileSync('/proc/cpuinfo', 'utf8')));
    if (!found.ok) return found;
    if (this.#server) {
      say({}, "the agents' server has ended: it is started again");
      await this.#server.program.stop();
      await this.#endLeft();
    }
    const start = performance.now();
    const home = (this.#home ??= AgentHome.take(dir));
    home.prepare(this.#parts.searchFile);
    const proxy = (this.#proxy ??= await ModelProxy.start(service));
    const mostSteps = this.#parts.mostSteps ?? MOST_STEPS;
    const kind = this.#parts.namespace ?? (await mayNamespace());
    const started = await startOpenCode({
      file: found.file,
      home: home.path,
      path: [this.#parts.path, home.programs].join(':'),
      marker: agentMarker(dir.id, name),
      config: openCodeConfig({
        models: options.models,
        modelUrl: proxy.url,
        context7Key: service.context7Key,
        documentationUrl: this.#parts.documentationUrl ?? CONTEXT7_URL,
        mostSteps,
        shell: home.shell,
      }),
      namespace: kind,
    });
    if (!started.ok) return started;
    const { program, url, password, namespace } = started.server;
    this.#server = started.server;
    const ms = Math.round(performance.now() - start);
    say({ pid: program.pid, home: home.id, ms, namespace: kind }, "the agents' server is ready");
    return { ok: true, access: { url, password, home: home.id, mostSteps, pid: program.pid, namespace } };
  }

  /** With a pid namespace there is nothing: the kernel has ended it. */
  async #endLeft(): Promise<void> {
    if (!this.#server) return;
    const marker = agentMarker(this.#parts.dir.id, this.#parts.process);
    const deadline = performance.now() + GONE_MS;
    const killed = new KilledProcesses();
    for (;;) {
      for (const stat of processesWithEnv('VOLE_JOB_MARKER', marker)) killed.kill(stat);
      if (!killed.anyAlive) return;
      if (performance.now() > deadline) break;
      await delay(10);
    }
    this.#parts.say({}, "processes of the agents' server withstand KILL");
  }
}
