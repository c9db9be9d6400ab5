import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { AgentServer, type AgentServerParts } from '../../src/runner/agent/agent-server.ts';
import { openDir, type RunnerDir } from '../../src/runner/dir/open-dir.ts';
import { WorkerPort } from '../../src/runner/runs/worker-port.ts';
import type { AgentOptions, AgentService } from '../../src/shared/agent/options.ts';
import { makeCgroup, ownCgroup, removeCgroup } from '../../src/shared/platform/cgroup.ts';
import { type AgentSession, type TurnEnd, type TurnRequest } from '../../src/worker/agent/engine.ts';
import { type OpenCodeEngine, openCodeEngine } from '../../src/worker/agent/opencode/opencode-engine.ts';
import { MainThread } from '../../src/worker/port.ts';
import { ModelServer } from './model-server.ts';
import { Cleanup } from './temp.ts';
import { until } from './until.ts';

export const MODELS = {
  explore: null,
  plan: { model: 'planner', variant: 'high' },
  build: { model: 'builder', variant: null },
} as const;

/** Of a runner whose agents need no programs beside those of the host. */
export const AGENT_OPTIONS: AgentOptions = {
  models: MODELS,
  planReviewRounds: 4,
  implementReviewRounds: 3,
  turnTimeoutMs: 180_000,
  installScripts: [],
  installScriptTimeoutMs: 60_000,
  installScriptsDir: null,
  pythonVersion: '3.13',
  dotnetChannel: 'LTS',
  botName: 'vole',
  botEmail: 'vole@example.org',
};

/** For a test with a few turns on a host that is busy with others. */
export const AGENT_TEST_MS = 180_000;

/** The key that nobody but the model's service may see. */
export const SERVICE_KEY = 'sk-key-of-the-service-0123456789';

/** A real agents' server on a runner's directory, with a scripted model behind it. */
export class AgentRig {
  readonly cleanup = new Cleanup();
  readonly model: ModelServer;
  readonly dir: RunnerDir;
  readonly server: AgentServer;
  /** What the server said of itself, for the runner's log. */
  readonly said: string[];
  #runs = 0;

  private constructor(parts: Pick<AgentRig, 'model' | 'dir' | 'server' | 'said'>) {
    this.model = parts.model;
    this.dir = parts.dir;
    this.server = parts.server;
    this.said = parts.said;
  }

  static async start(
    given: Partial<Pick<AgentServerParts, 'namespace' | 'mostSteps' | 'documentationUrl' | 'answerMs'>> & {
      service?: Partial<AgentService>;
    } = {},
  ): Promise<AgentRig> {
    const { service, ...options } = given;
    const cleanup = new Cleanup();
    const model = await ModelServer.start();
    const dir = await openDir(realpathSync(cleanup.tempDir('vole-agent-')));
    const said: string[] = [];
    const server = new AgentServer({
      dir,
      process: `rig-${process.pid}`,
      options: { models: MODELS },
      service: { url: model.url, key: SERVICE_KEY, context7Key: null, ...service },
      path: process.env['PATH'] ?? '/usr/bin:/bin',
      searchFile: path.resolve(import.meta.dirname, '../../dist/search.js'),
      say: (facts, line) => void said.push(`${line} ${JSON.stringify(facts)}`),
      warn: (_facts, line) => void said.push(`warning: ${line}`),
      ...options,
    });
    const rig = new AgentRig({ model, dir, server, said });
    rig.cleanup.defer(() => cleanup.run());
    rig.cleanup.defer(() => model.close());
    rig.cleanup.defer(() => server.close());
    return rig;
  }

  close(): Promise<void> {
    return this.cleanup.run();
  }

  /** A run's tree with a repository in it, and its engine on the rig's server. */
  async run(
    given: {
      turnTimeoutMs?: number;
      files?: Readonly<Record<string, string>>;
      /** Where the run reaches the server instead. */
      via?: (url: string) => Promise<string>;
    } = {},
  ): Promise<AgentRun> {
    const name = `${++this.#runs}-1.rig`;
    const tree = path.join(this.dir.layout.jobs, name);
    const workspace = path.join(tree, 'src');
    mkdirSync(path.join(tree, 'tmp'), { recursive: true });
    for (const [file, text] of Object.entries({ 'README.md': '# app\n', ...given.files })) {
      mkdirSync(path.dirname(path.join(workspace, file)), { recursive: true });
      writeFileSync(path.join(workspace, file), text);
    }
    commitAll(workspace);
    const parent = ownCgroup();
    const cgroup = parent && makeCgroup(parent, `vole-${path.basename(this.dir.layout.root)}-${this.#runs}`);
    const { port1, port2 } = new MessageChannel();
    const nothing = (): void => {};
    const port = new WorkerPort(
      port1,
      {
        guard: () => Promise.reject(new Error('the rig has none')),
        streams: () => Promise.reject(new Error('the rig has none')),
        agentServer: async () => {
          const answer = await this.server.access();
          if (!answer.ok || !given.via) return answer;
          return { ok: true, access: { ...answer.access, url: await given.via(answer.access.url) } };
        },
      },
      {
        thread: nothing,
        process: nothing,
        processGone: nothing,
        engineObject: nothing,
        cgroupJoined: nothing,
        spooled: nothing,
        artifact: nothing,
        publish: () => Promise.reject(new Error('the rig has none')),
      },
    );
    const main = new MainThread(port2, null);
    const log: string[] = [];
    const made = await openCodeEngine({
      main,
      options: { models: MODELS, turnTimeoutMs: given.turnTimeoutMs ?? AGENT_TEST_MS },
      workspace,
      processes: { marker: `${this.dir.id}/${name}`, tree, cgroup },
      say: (line) => void log.push(line),
      mask: (text) => text,
    });
    this.cleanup.defer(async () => {
      await port.close();
      main.close();
      if (cgroup) await until('the cgroup to be removed', () => removeCgroup(cgroup));
    });
    if (!made.ok) throw new Error(made.failure.why);
    return { engine: made.engine, workspace, tree, log, marker: `${this.dir.id}/${name}`, port, cgroup };
  }
}

export interface AgentRun {
  readonly engine: OpenCodeEngine;
  readonly workspace: string;
  readonly tree: string;
  /** What the run's log has. */
  readonly log: string[];
  readonly marker: string;
  /** The main thread's end: `cancel` is a person's. */
  readonly port: WorkerPort;
  readonly cgroup: string | null;
}

export async function opened(run: AgentRun): Promise<AgentSession> {
  const opened = await run.engine.open('a test');
  if (!opened.ok) throw new Error(opened.failure.why);
  return opened.session;
}

/** One turn in a conversation of its own. */
export async function oneTurn(run: AgentRun, request: Partial<TurnRequest> = {}): Promise<TurnEnd> {
  return await (await opened(run)).turn({ role: 'build', prompt: 'do it', schema: null, ...request });
}

function commitAll(workspace: string): void {
  const git = (...args: string[]): unknown =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
      cwd: workspace,
      env: {
        PATH: process.env['PATH'] ?? '',
        GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
        GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
      },
    });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
}
